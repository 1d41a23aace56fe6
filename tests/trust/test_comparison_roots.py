"""What keys begin with: random blocks of which no party knows another one.

All other words follow from them and the value (test_comparison.py), so whoever can work out the
other party's root has the value, however random each key looks by itself.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.trust import comparison

BITS = 4
CLIENTS = 4096
FAR = 7.0  # deviations


def roots(rng):
    """(2, n, 128) the bits of both parties' roots."""
    both = comparison.gen(np.zeros(CLIENTS, np.int64), BITS, rng)
    blocks = np.stack([keys.packed[:, :16] for keys in both])
    return np.unpackbits(blocks, axis=2, bitorder="little")


@pytest.mark.parametrize("rng", [None, np.random.default_rng(5)], ids=["secret", "seeded"])
def test_roots_have_nothing_in_common_with_each_other(rng):
    first, second = roots(rng)
    assert not first[:, 0].any()
    assert second[:, 0].all()
    first, second = first[:, 1:], second[:, 1:]
    deviation = np.sqrt(CLIENTS / 4)
    others = {
        "both parties'": first ^ second,
        "party 0's and the next client's": first ^ np.roll(first, 1, axis=0),
        "party 1's and the next client's": second ^ np.roll(second, 1, axis=0),
        "both parties', of neighbours": first ^ np.roll(second, 1, axis=0),
        "both parties', of neighbours the other way": first ^ np.roll(second, -1, axis=0),
        "the words of one block": first[:, :63] ^ first[:, 64:],
        "the words of both parties'": first[:, :63] ^ second[:, 64:],
    }
    for name, bits in {"party 0's": first, "party 1's": second, **others}.items():
        ones = bits.sum(axis=0, dtype=np.int64)
        assert np.abs(ones - CLIENTS / 2).max() < FAR * deviation, name


@pytest.mark.parametrize("rng", [None, np.random.default_rng(6)], ids=["secret", "seeded"])
def test_no_root_comes_again_for_either_party(rng):
    """A block that two clients, or both parties, had in common would tell one of the other."""
    blocks = roots(rng)[:, :, 1:].reshape(2 * CLIENTS, -1)
    assert len({block.tobytes() for block in blocks}) == 2 * CLIENTS
    apart = blocks[:CLIENTS] != blocks[CLIENTS:]
    distances = apart.sum(axis=1)
    assert len(np.unique(np.packbits(apart, axis=1), axis=0)) == CLIENTS
    assert distances.min() > 127 / 2 - 9 * np.sqrt(127 / 4)
