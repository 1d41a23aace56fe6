"""One party's keys and shares look random, and the same for all values."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dpcore.trust import comparison
from dpcore.trust.comparison import generation
from dpcore.trust.comparison.prg import LEFT, NUMBERS, RIGHT, Ciphers
from tests import reference

BITS = 16
CLIENTS = 10_000
VALUES = [0, 2**15 - 1, 2**15, 2**16 - 1]
CONTROL = 2 + 3 * 13  # the word with a bit for each of 13 levels
WORD = 2**64
FAR = 7.0  # deviations


def keys_of(value, seed):
    return comparison.gen(np.full(CLIENTS, value), BITS, rng=np.random.default_rng([seed, value]))


many_keys = pytest.mark.needs_jit


@pytest.fixture(scope="module")
def keys():
    """Both parties' keys of many clients with one value, for each of some values."""
    return {value: keys_of(value, 1) for value in VALUES}


def free_bits(keys):
    """(n, B) the bits of keys that are not the same in all."""
    bits = np.unpackbits(keys.packed, axis=1, bitorder="little")
    at = np.arange(bits.shape[1])
    fixed = (at == 0) | ((at >= 64 * CONTROL + 13) & (at < 64 * (CONTROL + 1)))
    assert (bits[:, fixed] == bits[0, fixed]).all()
    return bits[:, ~fixed]


def farthest(counts, probability=0.5):
    """How many deviations the farthest count is from what is expected, of so many clients."""
    deviation = np.sqrt(CLIENTS * probability * (1 - probability))
    return np.abs(counts - CLIENTS * probability).max() / deviation


def assert_uniform_bytes(columns):
    """Chi-squared for each column of bytes, whose 255 degrees of freedom are near to normal."""
    for column in columns.T:
        counts = np.bincount(column, minlength=256)
        expected = len(column) / 256
        assert abs(((counts - expected) ** 2 / expected).sum() - 255) < FAR * np.sqrt(2 * 255)


@pytest.mark.sample(5)
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


@many_keys
def test_a_partys_root_says_nothing_of_the_other_ones_nor_of_other_clients(keys):
    roots = [own.words[:, :2] for own in keys[VALUES[0]]]
    roots[0] = roots[0] ^ np.uint64([1, 0])  # the lowest bit is the party
    for some, others in [roots, (roots[0][1:], roots[0][:-1]), (roots[1][1:], roots[1][:-1])]:
        apart = np.ascontiguousarray(some ^ others).view(np.uint8)
        assert not (apart[:, 0] & 1).any()
        assert_uniform_bytes(apart[:, 1:])


def test_cryptographic_roots_differ_as_seeded_ones_do():
    for _ in range(2):
        roots = np.concatenate([own.words[:, :2] for own in comparison.gen([7] * 100, BITS)])
        assert len(np.unique(roots)) == 400


@many_keys
@pytest.mark.parametrize("party", [0, 1])
def test_keys_of_two_values_have_the_same_bits_as_often(keys, party):
    ones = [free_bits(keys[value][party]).sum(axis=0, dtype=np.int64) for value in VALUES]
    for some, others in pairwise(ones):
        assert np.abs(some - others).max() < FAR * np.sqrt(CLIENTS / 2)


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
    first, second = comparison.gen(np.full(400, value), BITS, rng=np.random.default_rng(3))
    for keys in (first, second):
        for threshold in (value, beside, value + 8):
            found = [
                reference.comparison_controls(row, BITS, threshold)[1:]
                for row in keys.words.tolist()
            ]
            assert np.abs(np.sum(found, axis=0) - 200).max() < FAR * np.sqrt(100)


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
        found, numbers_found = [self.random(), self.random()], [0, 0]
        found[lose] = blocks[lose] ^ (low + WORD * high)
        controls = [corrections[0] ^ keep ^ 1, corrections[1] ^ keep]
        for side in (0, 1):
            found[side] -= found[side] % 2
            found[side] += blocks[side] % 2 ^ controls[side]
        numbers_found[keep] = self.random() % WORD
        jump = int(lose == 1)
        numbers_found[lose] = (self.signed(number) + numbers[lose] + self.gap - jump) % WORD
        self.gap += numbers[keep] - numbers_found[keep] + self.signed(number)
        self.control = found[keep] % 2 ^ self.control * corrections[keep]
        return {
            LEFT: found[0],
            RIGHT: found[1],
            NUMBERS: numbers_found[0] + WORD * numbers_found[1],
        }

    def leaf(self, which, states):
        """The block of party 1 that makes two words of a leaf."""
        own = reference.comparison_outputs(states[0], 8)
        found = [
            (self.signed(self.words[CONTROL + 1 + j]) + own[j] + self.gap - (j >= self.value % 8))
            % WORD
            for j in (2 * which, 2 * which + 1)
        ]
        return found[0] + WORD * found[1]


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
