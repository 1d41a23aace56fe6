"""Reports of a discrete square wave: an output near the client's cell, or a far one.

What noise/samplers.py says about windows and about words past the end holds here, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from ..noise.samplers import WORD_BITS, uniform, word_at


@kernel
def perturb(
    words: NDArray[np.uint32],
    cells: NDArray[np.int64],
    near: int,
    far: int,
    far_share: np.uint64,
    reports: NDArray[np.int64],
) -> tuple[int, int]:
    """Fill ``reports`` with an output for each client, from 0 to ``near + far - 1``.

    Parameters
    ----------
    words
        Uniform 32-bit words.
    cells
        (R,) each client's cell, from 0 to ``far``. The ``near`` outputs from the cell on are near
        it; all others are far.
    near, far
        How many outputs are near a cell, and how many are far: 1 or more.
    far_share
        2^64 times the probability that the output is a far one.
    reports
        (R,) the result.

    Returns
    -------
    done, used
        How many leading reports are final, and how many words made them.

    Notes
    -----
    All near outputs have the same probability, and so have all far ones. Invariant:
    ``reports[:r]`` is a function of ``words[:at]`` and of nothing after it. The number of words
    that a client takes does not depend on its cell.
    """
    at = 0
    for r in range(cells.size):
        start = at
        chosen = (word_at(words, at) << WORD_BITS) | word_at(words, at + 1)
        is_far = chosen < far_share
        drawn, at = uniform(words, at + 2, np.uint64(far if is_far else near))
        if at > words.size:
            return r, start
        place, cell = np.int64(drawn), cells[r]
        if not is_far:
            place += cell
        elif place >= cell:
            place += near
        reports[r] = place
    return cells.size, at
