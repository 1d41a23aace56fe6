"""The noise of a server that shares functions, and the noisy counts of all nodes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...kernels.trees import hierarchy as kernels
from ..models.function_sharing import FunctionSharing
from ..models.remembered_noise import RememberedNoise
from . import wire
from .parameters import Protocol
from .tally import CONTENT_BYTES, Tally

__all__ = ["noise_of", "noisy_nodes"]

_LABEL: Final = b"dpcore server noise"


def noise_of(tally: Tally, protocol: Protocol) -> RememberedNoise:
    """Return a server's noise, from its key, the round, and what its clients have sent.

    A server that starts again from an older file and closes with other reports has independent
    noise for them, even if they have the same ids, which are not secret. With the same noise, the
    two releases would show in what the reports differ (docs/proofs/function-sharing.md, section
    10).
    """
    assert isinstance(protocol.trust, FunctionSharing)
    content = tally.content.to_bytes(CONTENT_BYTES, "little")
    context = b"".join((_LABEL, *protocol.key, content))
    return RememberedNoise(
        protocol.trust.tree(protocol.cells),
        protocol.noise,
        wire.keyed_hash(tally.noise_key, context),
        simulated=tally.simulated,
    )


def noisy_nodes(
    totals: NDArray[np.uint64], protocol: Protocol, noise: RememberedNoise
) -> NDArray[np.uint64]:
    """Return noisy shares of all nodes' counts, root first, from shares of cumulative counts."""
    counts = np.diff(totals, prepend=np.uint64(0)).view(np.int64)
    nodes = kernels.node_sums(counts, np.array(protocol.branching, np.int64), protocol.starts)
    nodes += noise.of_nodes()
    for level, share in enumerate(protocol.noise[1:], 1):
        if share is None:  # an uncounted level has no noise, so it must not be disclosed
            nodes[protocol.starts[level] : protocol.starts[level + 1]] = 0
    return nodes.view(np.uint64)
