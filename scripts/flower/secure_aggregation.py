"""What Flower's keys and masks are and cost: run by the Python of ``.venv-flower``.

``python scripts/flower/secure_aggregation.py EPSILON DROPOUT CELLS SITES CLIENTS`` prints JSON:
what secure aggregation needs for so many clients; seconds for a mask, for making and combining the
shares of a client's secrets, and for agreeing on a key; and which generators of masks give two
seeds the same
mask.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_MODULUS: Final = 2**32
_REPEATS: Final = 3


def main() -> None:
    """Measure, and print what was found."""
    epsilon, dropout = map(float, sys.argv[1:3])
    cells, sites, clients = map(int, sys.argv[3:])
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "flower"))
    numpy, flwr, dpcore = map(importlib.import_module, ("numpy", "flwr", "dpcore"))
    exact = importlib.import_module("private_curves.exact_sums")
    room = importlib.import_module("private_curves.room")
    few, protocol = (
        dpcore.trust.Protocol(
            dpcore.trust.DistributedNoise(epsilon, count, dropout, records=None), cells, bytes(16)
        )
        for count in (sites, clients)
    )
    sums, noise = exact.ExactSums.of(protocol, 1), room.most_noise(protocol)
    masks = importlib.import_module("private_curves.masks").full_seed_masks
    flowers = importlib.import_module("flwr.common.secure_aggregation.secaggplus_utils")
    generators = {"full-seed": masks, "flower": flowers.pseudo_rand_gen}
    arguments = os.urandom(32), sums.modulus, [(protocol.words,)]
    found: dict[str, Any] = {
        "versions": {
            "Python": sys.version.split()[0],
            "Flower": flwr.__version__,
            "dpcore": dpcore.__version__,
            "NumPy": numpy.__version__,
        },
        "neighbours of a site": exact.ExactSums.of(few, 1).neighbours,
        "neighbours": sums.neighbours,
        "threshold": sums.threshold,
        "range": sums.range,
        "noise": noise,
        "records": sums.bound - noise,
        "same mask": {name: _same(make) for name, make in generators.items()},
        "mask": {name: _seconds(make, *arguments) for name, make in generators.items()},
        **_secrets(sums.neighbours, sums.threshold),
    }
    print(json.dumps(found))


def _same(make: Callable[..., Any]) -> bool:
    """Return whether two seeds, the second one with its words in reverse order, have one mask."""
    seed = bytes(range(32))
    words = [seed[at : at + 4] for at in range(0, 32, 4)]
    first, second = (make(each, _MODULUS, [(64,)])[0] for each in (seed, b"".join(words[::-1])))
    return bool((first == second).all())


def _secrets(neighbours: int, threshold: int) -> dict[str, float]:
    """Return what it costs to share and to combine a client's two secrets, and to agree on a key.

    The secrets are the seed of the client's own mask, and the key for its masks with others. The
    app passes no more shares to Flower than rebuild a secret.
    """
    shamir = importlib.import_module("flwr.common.secure_aggregation.crypto.shamir")
    keys = importlib.import_module("flwr.supercore.primitives.asymmetric")
    agree = importlib.import_module(
        "flwr.common.secure_aggregation.crypto.symmetric_encryption"
    ).generate_shared_key
    (private, public), seed = keys.generate_key_pairs(), os.urandom(32)
    secret = keys.private_key_to_bytes(private)
    found = {"agree": _seconds(agree, private, public)}
    for name, each in (("seed", seed), ("key", secret)):
        found[f"share {name}"] = _seconds(shamir.create_shares, each, threshold, neighbours)
        shares = shamir.create_shares(each, threshold, neighbours)[:threshold]
        assert shamir.combine_shares(shares) == each
        found[f"combine {name}"] = _seconds(shamir.combine_shares, shares)
    return found


def _seconds(call: Callable[..., object], *arguments: object) -> float:
    """Return the least processor time of a few calls."""
    taken = []
    for _ in range(_REPEATS):
        start = time.process_time()
        call(*arguments)
        taken.append(time.process_time() - start)
    return min(taken)


if __name__ == "__main__":
    main()
