"""One party's keys and shares look random, whatever the value, and say nothing of the other's."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.trust import comparison
from dpcore.trust.comparison import generation
from dpcore.trust.comparison.prg import LEFT, NUMBERS, RIGHT, Ciphers
from tests import reference

BITS = 16
CLIENTS = 4096
VALUES = [0, 2**15 - 1, 2**15, 2**16 - 1]
CONTROL = 2 + 3 * 13  # the word with a bit for each of 13 levels
WORD = 2**64
FAR = 7.0  # deviations


many_keys = pytest.mark.needs_jit


@pytest.fixture(scope="module")
def keys():
    """Both parties' keys of many clients with one value, for each of some values."""
    return {
        value: comparison.gen(np.full(CLIENTS, value), BITS, rng=np.random.default_rng([1, value]))
        for value in VALUES
    }


def free_bits(keys):
    """(n, B) the bits of keys that are not the same in all."""
    bits = np.unpackbits(keys.packed, axis=1, bitorder="little")
    at = np.arange(bits.shape[1])
    fixed = (at == 0) | ((at >= 64 * CONTROL + 13) & (at < 64 * (CONTROL + 1)))
    assert (bits[:, fixed] == bits[0, fixed]).all()
    return bits[:, ~fixed]


def farthest(counts):
    """How many deviations the farthest count is from half of the clients."""
    return np.abs(counts - CLIENTS / 2).max() / np.sqrt(CLIENTS / 4)


def assert_uniform_bytes(columns):
    """Chi-squared for each column of bytes, whose 255 degrees of freedom are near to normal."""
    for column in columns.T:
        counts = np.bincount(column, minlength=256)
        expected = len(column) / 256
        assert abs(((counts - expected) ** 2 / expected).sum() - 255) < FAR * np.sqrt(2 * 255)


@many_keys
@pytest.mark.parametrize("party", [0, 1])
@pytest.mark.parametrize("value", VALUES)
def test_every_bit_and_byte_of_a_key_is_uniform(keys, value, party):
    own = keys[value][party]
    assert farthest(free_bits(own).sum(axis=0)) < FAR
    whole = np.delete(own.packed, [0, *range(8 * CONTROL, 8 * CONTROL + 8)], axis=1)
    assert_uniform_bytes(whole)


@pytest.mark.sample(1)
@many_keys
@pytest.mark.parametrize("party", [0, 1])
@pytest.mark.parametrize("value", VALUES)
def test_sums_of_a_keys_bits_are_uniform(keys, value, party):
    """Random linear forms, and those of neighbouring levels: masks that are used twice cancel."""
    bits = free_bits(keys[value][party]).astype(np.float32)
    rng = np.random.default_rng(value + party)
    forms = rng.integers(0, 2, (bits.shape[1], 200)).astype(np.float32)
    assert farthest((bits @ forms % 2).sum(axis=0)) < FAR
    for apart in (1, 64, 128, 192):
        assert farthest((bits[:, apart:] != bits[:, :-apart]).sum(axis=0)) < FAR


def roots(rng):
    """(2, n, 128) the bits of both parties' roots, random blocks with which their keys begin.

    All other words follow from them and the value, so whoever can work out the other party's root
    has the value, however random each key looks by itself.
    """
    both = comparison.gen(np.zeros(CLIENTS, np.int64), 4, rng)
    blocks = np.stack([keys.packed[:, :16] for keys in both])
    return np.unpackbits(blocks, axis=2, bitorder="little")


generators = pytest.mark.parametrize("seed", [None, 5], ids=["secret", "seeded"])


@generators
def test_roots_have_nothing_in_common_with_each_other(seed):
    first, second = roots(seed and np.random.default_rng(seed))
    assert not first[:, 0].any()
    assert second[:, 0].all()
    first, second = first[:, 1:], second[:, 1:]
    several = {
        "party 0's": first,
        "party 1's": second,
        "both parties'": first ^ second,
        "party 0's and the next client's": first ^ np.roll(first, 1, axis=0),
        "party 1's and the next client's": second ^ np.roll(second, 1, axis=0),
        "both parties', of neighbours": first ^ np.roll(second, 1, axis=0),
        "both parties', of neighbours the other way": first ^ np.roll(second, -1, axis=0),
        "the words of one block": first[:, :63] ^ first[:, 64:],
        "the words of both parties'": first[:, :63] ^ second[:, 64:],
    }
    for name, bits in several.items():
        assert farthest(bits.sum(axis=0, dtype=np.int64)) < FAR, name


@generators
def test_no_root_comes_again_for_either_party(seed):
    """A block that two clients, or both parties, had in common would tell one of the other."""
    blocks = roots(seed and np.random.default_rng(seed))[:, :, 1:].reshape(2 * CLIENTS, -1)
    assert len({block.tobytes() for block in blocks}) == 2 * CLIENTS
    apart = blocks[:CLIENTS] != blocks[CLIENTS:]
    assert len(np.unique(np.packbits(apart, axis=1), axis=0)) == CLIENTS
    assert apart.sum(axis=1).min() > 127 / 2 - 9 * np.sqrt(127 / 4)


@many_keys
@pytest.mark.parametrize("party", [0, 1])
@pytest.mark.parametrize("value", VALUES)
def test_a_partys_shares_and_their_differences_are_uniform(keys, value, party):
    """At the value, where both parties' sums jump, no less than elsewhere."""
    around = np.arange(value - 9, value + 10)
    thresholds = np.unique([*around[(around >= 0) & (around < 2**BITS)], 0, 12345, 2**BITS - 1])
    shares = comparison.evaluate(keys[value][party], thresholds)
    assert_uniform_bytes(shares.view(np.uint8))
    assert_uniform_bytes(np.ascontiguousarray(np.diff(shares, axis=1)).view(np.uint8))


def test_control_bits_are_as_often_set_on_the_values_path_as_beside_it():
    value, beside = 0b1011_0011_1010_0110, 0b0100_1100_0101_1001
    first, second = comparison.gen(np.full(160, value), BITS, rng=np.random.default_rng(3))
    for keys in (first, second):
        for threshold in (value, beside, value + 8):
            controls = [
                reference.comparison_controls(row, BITS, threshold)[1:]
                for row in keys.words.tolist()
            ]
            assert np.abs(np.sum(controls, axis=0) - 80).max() < FAR * np.sqrt(40)


class Chosen(Ciphers):
    """Party 0's generator as it is; and of party 1's, what makes party 0's key a given one.

    Party 1's outputs are secret and random. If for every value and key there are such outputs, as
    many as for any other value, then party 0's key says nothing of the value: the words of a key
    are its seed and so many one-time pads. The other way round it is the same.
    """

    def __init__(self, value, words, rng):
        super().__init__()
        self.value, self.words, self.rng = value, words, rng
        self.level, self.gap, self.control, self.wanted = 0, 0, 1, []

    def encrypt(self, which, blocks, out):
        super().encrypt(which, blocks, out)
        states = [int.from_bytes(blocks[at : at + 16], "little") for at in (0, 16)]
        if self.level < 13:
            if not self.wanted:
                self.wanted = self.outputs(states)
            wanted = self.wanted[which]
            if which == NUMBERS:
                self.level, self.wanted = self.level + 1, []
        else:
            wanted = self.leaf(which, states)
        out[16:32] = (wanted ^ states[1]).to_bytes(16, "little")

    def random(self):
        return int.from_bytes(self.rng.bytes(16), "little")

    def signed(self, number):
        return -number if self.control else number

    def outputs(self, states):
        """The blocks of party 1 that make this level's words, and free ones on the value's path."""
        blocks, numbers = reference.comparison_children(states[0])
        low, high, number = self.words[2 + 3 * self.level : 5 + 3 * self.level]
        keep = self.value >> (BITS - 1 - self.level) & 1
        lose = 1 - keep
        corrections = [low % 2, self.words[CONTROL] >> self.level & 1]
        made, numbers_made = [self.random(), self.random()], [0, 0]
        made[lose] = blocks[lose] ^ (low + WORD * high)
        controls = [corrections[0] ^ keep ^ 1, corrections[1] ^ keep]
        for side in (0, 1):
            made[side] -= made[side] % 2
            made[side] += blocks[side] % 2 ^ controls[side]
        numbers_made[keep] = self.random() % WORD
        jump = int(lose == 1)
        numbers_made[lose] = (self.signed(number) + numbers[lose] + self.gap - jump) % WORD
        self.gap += numbers[keep] - numbers_made[keep] + self.signed(number)
        self.control = made[keep] % 2 ^ self.control * corrections[keep]
        return {
            LEFT: made[0],
            RIGHT: made[1],
            NUMBERS: numbers_made[0] + WORD * numbers_made[1],
        }

    def leaf(self, which, states):
        """The block of party 1 that makes two words of a leaf."""
        own = reference.comparison_outputs(states[0], 8)
        numbers = [
            (self.signed(self.words[CONTROL + 1 + j]) + own[j] + self.gap - (j >= self.value % 8))
            % WORD
            for j in (2 * which, 2 * which + 1)
        ]
        return numbers[0] + WORD * numbers[1]


@pytest.mark.parametrize("value", [0, 1, 12345, 2**15, 2**16 - 1])
def test_every_key_is_made_for_every_value_by_outputs_that_only_the_other_party_has(
    value, monkeypatch
):
    rng = np.random.default_rng(value)
    words = rng.integers(0, 2**64, comparison.key_bytes(BITS) // 8, dtype=np.uint64)
    words[0] &= np.uint64(2**64 - 2)
    words[CONTROL] &= np.uint64(2**13 - 1)
    monkeypatch.setattr(generation, "Ciphers", lambda: Chosen(value, words.tolist(), rng))
    seeds = np.array([[words[:2]], [rng.integers(0, 2**64, 2, dtype=np.uint64)]])
    first, _ = generation.keys_from_seeds(np.array([value], np.uint64), seeds, BITS)
    assert first.words[0].tolist() == words.tolist()
