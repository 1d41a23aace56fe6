"""Places for people, drawn exactly and without replacement.

What noise/samplers.py says about windows and about words past the end holds here, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel
from ..noise.samplers import uniform


@kernel
def deal(
    words: NDArray[np.uint32],
    people: NDArray[np.int64],
    places: NDArray[np.int64],
    dealt: NDArray[np.int64],
    cell: int,
) -> tuple[int, int]:
    """Give each person one of the places that are left, each place with the same probability.

    Parameters
    ----------
    words
        Uniform 32-bit words.
    people
        (N,) how many people of each cell have no place yet; changed. Their sum is at most that of
        ``places``.
    places
        (H,) how many places of each kind are left, below 2^63 in all; changed.
    dealt
        (H, N) how many people of a cell have a place of a kind; added to.
    cell
        The cell to go on with: 0 in the first call, and then the returned one.

    Returns
    -------
    cell, used
        The work is done if ``cell`` is N. Otherwise show the words from ``used`` on again, in front
        of new ones.

    Notes
    -----
    Invariant: ``people``, ``places``, ``dealt`` and ``cell`` are functions of ``words[:start]`` and
    of nothing after it; ``left`` is the sum of ``places``. The number of words depends on the sums
    of ``people`` and of ``places``, and on the words. O(H) a person.
    """
    at = 0
    left = np.int64(0)
    for kind in range(places.size):
        left += places[kind]
    while cell < people.size:
        if people[cell] == 0:
            cell += 1
            continue
        start = at
        drawn, at = uniform(words, at, np.uint64(left))
        if at > words.size:
            return cell, start
        place, kind = np.int64(drawn), 0
        while place >= places[kind]:  # the loop ends, because place is below the sum of all kinds
            place -= places[kind]
            kind += 1
        places[kind] -= 1
        people[cell] -= 1
        dealt[kind, cell] += 1
        left -= 1
    return cell, at
