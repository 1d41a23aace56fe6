"""Comparison functions: exact when added up, bit for bit the reference, and what they refuse."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import comparison
from dpcore.trust.comparison import evaluation, walk
from dpcore.trust.comparison.generation import keys_from_seeds
from dpcore.trust.comparison.plan import plan
from tests import reference

BITS = 6
VALUES = [5, 0, 63, 17, 17, 32, 8]
FIRST, SECOND = comparison.gen(VALUES, BITS, rng=np.random.default_rng(1))


def reached(values, thresholds):
    """Which values are at most which thresholds."""
    return (np.asarray(values)[:, None] <= np.asarray(thresholds)).astype(np.uint64)


def integers(blocks):
    """(n, 2) words as integers of 128 bits."""
    return [int(low) + 2**64 * int(high) for low, high in blocks]


MANY = [pytest.param(bits, marks=pytest.mark.needs_jit) for bits in range(7, 11)]


@pytest.mark.parametrize("bits", [*range(1, 7), *MANY])
def test_shares_add_up_to_the_comparison_for_all_values_and_thresholds(bits):
    values = np.arange(2**bits)
    first, second = comparison.gen(values, bits)
    exact = reached(values, values)
    assert np.array_equal(comparison.evaluate(first) + comparison.evaluate(second), exact)
    sums = comparison.evaluate_sum(first) + comparison.evaluate_sum(second)
    assert np.array_equal(sums, np.arange(1, 2**bits + 1, dtype=np.uint64))
    thresholds = np.random.default_rng(bits).integers(0, 2**bits, 9)
    some = comparison.evaluate(first, thresholds) + comparison.evaluate(second, thresholds)
    assert np.array_equal(some, exact[:, thresholds])


@pytest.mark.parametrize("bits", [16, 32])
def test_shares_add_up_around_the_values(bits):
    rng = np.random.default_rng(bits)
    most = 2**bits - 1
    values = np.array([0, 1, most - 1, most, *rng.integers(2, most - 1, 20)])
    thresholds = np.concatenate([values - 1, values, values + 1, [0, most]]).clip(0, most)
    first, second = comparison.gen(values, bits)
    shares = comparison.evaluate(first, thresholds) + comparison.evaluate(second, thresholds)
    assert np.array_equal(shares, reached(values, thresholds))
    sums = comparison.evaluate_sum(first, thresholds) + comparison.evaluate_sum(second, thresholds)
    assert np.array_equal(sums, reached(values, thresholds).sum(axis=0, dtype=np.uint64))


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 9, 16, 32])
def test_keys_and_shares_are_the_references_bit_for_bit(bits):
    rng = np.random.default_rng(bits)
    values = np.array([0, 2**bits - 1, *rng.integers(0, 2**bits, 5)], np.uint64)
    seeds = rng.integers(0, 2**64, (2, values.size, 2), dtype=np.uint64)
    roots = list(zip(integers(seeds[0]), integers(seeds[1]), strict=True))
    both = keys_from_seeds(values, seeds, bits)
    plain = [reference.comparison_keys(int(v), bits, r) for v, r in zip(values, roots, strict=True)]
    thresholds = [0, 2**bits - 1, int(values[-1]), *rng.integers(0, 2**bits, 4).tolist()]
    for party, keys in enumerate(both):
        words = [pair[party] for pair in plain]
        assert keys.packed.view("<u8").tolist() == words
        shares = [[reference.comparison(party, key, bits, t) for t in thresholds] for key in words]
        assert comparison.evaluate(keys, thresholds).tolist() == shares
        sums = [sum(column) % 2**64 for column in zip(*shares, strict=True)]
        assert comparison.evaluate_sum(keys, thresholds).tolist() == sums


# --- calls


def test_shapes_are_those_of_the_arguments():
    one, _ = comparison.gen(7, BITS)
    assert len(one) == 1
    assert len(FIRST) == 7
    assert comparison.evaluate(FIRST, [3, 4]).shape == (7, 2)
    assert comparison.evaluate(FIRST, 3).shape == (7,)
    assert comparison.evaluate(one).shape == (1, 64)
    assert comparison.evaluate_sum(FIRST, [3, 4, 5]).shape == (3,)
    assert isinstance(comparison.evaluate_sum(FIRST, np.uint8(3)), np.uint64)
    assert np.array_equal(comparison.evaluate_sum(FIRST), comparison.evaluate_sum(FIRST, range(64)))


def test_nobody_and_no_thresholds():
    for nobody in comparison.gen([], BITS):
        assert nobody.packed.shape == (0, comparison.key_bytes(BITS))
        assert comparison.evaluate(nobody, [1, 2]).shape == (0, 2)
        assert comparison.evaluate_sum(nobody, [1, 2]).tolist() == [0, 0]
    assert comparison.evaluate(FIRST, []).shape == (7, 0)
    assert comparison.evaluate_sum(FIRST, []).shape == (0,)


def test_thresholds_in_any_order_and_again():
    shares = comparison.evaluate(FIRST)
    thresholds = np.array([40, 3, 3, 63, 0, 40, 41])
    assert np.array_equal(comparison.evaluate(FIRST, thresholds), shares[:, thresholds])
    sums = comparison.evaluate_sum(FIRST, thresholds)
    assert np.array_equal(sums, shares[:, thresholds].sum(axis=0, dtype=np.uint64))


@pytest.mark.sample(7)
@pytest.mark.parametrize("nodes", [1, 3, 2**13])
@pytest.mark.parametrize("clients", [1, 4, 10])
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("piece", [3, 100])
def test_the_same_bits_in_pieces_of_any_size_on_any_number_of_threads(
    nodes, clients, workers, piece, monkeypatch
):
    keys, _ = comparison.gen(np.arange(23) * 11, 8, rng=np.random.default_rng(2))
    thresholds = [200, 7, 8, 77, 255, 0, 9]
    whole = comparison.evaluate(keys, workers=1), comparison.evaluate_sum(keys, thresholds, 1)
    monkeypatch.setattr(evaluation, "_PIECE", piece)
    monkeypatch.setattr(walk, "_AT_ONCE", nodes * clients)
    monkeypatch.setattr(walk, "_MOST_CLIENTS", clients)
    assert np.array_equal(comparison.evaluate(keys, workers=workers), whole[0])
    assert np.array_equal(comparison.evaluate_sum(keys, thresholds, workers), whole[1])
    assert np.array_equal(whole[0].sum(axis=0, dtype=np.uint64)[thresholds], whole[1])


def test_keys_do_not_depend_on_who_else_has_some():
    """Keys are made 2,048 at a time, from the seeds of all."""
    values = np.arange(5000) % 64
    first, second = comparison.gen(values, BITS)
    sums = comparison.evaluate_sum(first) + comparison.evaluate_sum(second)
    assert np.array_equal(sums, np.cumsum(np.bincount(values)))
    assert len({row.tobytes() for row in first.packed}) == 5000


def test_seeded_keys_are_repeated_and_others_are_not():
    again, _ = comparison.gen(VALUES, BITS, rng=np.random.default_rng(1))
    assert np.array_equal(again.packed, FIRST.packed)
    fresh = [comparison.gen(VALUES, BITS)[0].packed for _ in range(2)]
    assert not np.array_equal(*fresh)


def test_key_sizes():
    assert comparison.key_bytes(16) == 400
    assert [comparison.key_bytes(bits) for bits in (1, 2, 3, 4, 32)] == [40, 56, 88, 112, 784]
    assert FIRST.packed.shape == (7, comparison.key_bytes(BITS))


@pytest.mark.parametrize("bits", [1, 3, 16])
def test_keys_are_read_back(bits):
    some = [0, 1, 2**bits - 1]
    for keys in comparison.gen([1, 0, 1], bits):
        packed = keys.packed
        apart = np.repeat(packed, 2, axis=0)[::2]
        assert not packed.flags.writeable
        for given in (packed, apart, packed.tobytes(), bytearray(packed), memoryview(packed)):
            read = comparison.Keys.from_packed(given, bits, keys.party)
            assert (read.bits, read.party, len(read)) == (bits, keys.party, 3)
            assert np.array_equal(read.packed, packed)
            shares = comparison.evaluate(read, some)
            assert np.array_equal(shares, comparison.evaluate(keys, some))
        one = comparison.Keys.from_packed(packed[1], bits, keys.party)
        assert np.array_equal(one.packed, packed[1:2])
        none = comparison.Keys.from_packed(b"", bits, keys.party)
        assert len(none) == 0


def test_read_keys_are_a_copy_and_copies_cannot_be_written_to():
    packed = FIRST.packed.copy()
    read = comparison.Keys.from_packed(packed, BITS, 0)
    packed[:] = 0
    assert np.array_equal(read.packed, FIRST.packed)
    for copied in (pickle.loads(pickle.dumps(SECOND)), copy.copy(SECOND), copy.deepcopy(SECOND)):
        assert (copied.bits, copied.party) == (BITS, 1)
        assert np.array_equal(copied.packed, SECOND.packed)
        assert not copied.packed.flags.writeable


def test_nothing_of_a_key_is_shown_and_whose_keys_they_are_is_not_changed():
    assert repr(SECOND) == str(SECOND) == "Keys(of 7 clients, bits=6, party=1)"
    for name in ("bits", "party", "words", "packed"):
        with pytest.raises(AttributeError):
            setattr(SECOND, name, getattr(SECOND, name))


def damaged(row, byte, bits):
    packed = FIRST.packed.copy()
    packed[row, byte] ^= bits
    return packed


PACKED, WORDS = FIRST.packed, FIRST.words
CONTROL = 8 * (2 + 3 * 3)  # a bit for each of three levels


@pytest.mark.parametrize(
    ("packed", "party", "error", "words"),
    [
        (PACKED, 1, ParameterError, "packed .*1's"),
        (SECOND.packed.tobytes(), 0, ParameterError, "packed .*0's"),
        (np.concatenate([PACKED, SECOND.packed[:1]]), 0, ParameterError, "packed .*0's"),
        (damaged(6, 0, 1), 0, ParameterError, "packed .*0's"),
        (damaged(3, CONTROL, 8), 0, ParameterError, "packed .*levels"),
        (damaged(3, CONTROL, 128), 0, ParameterError, "packed .*levels"),
        (damaged(3, CONTROL + 1, 1), 0, ParameterError, "packed .*levels"),
        (damaged(3, CONTROL + 7, 128), 0, ParameterError, "packed .*levels"),
        (bytes(1), 0, ParameterError, "packed .*160"),
        (bytes(159), 0, ParameterError, "packed .*160"),
        (bytes(319), 0, ParameterError, "packed .*160"),
        (PACKED[:, :-1], 0, ParameterError, r"packed .*\(n, 160\)"),
        (PACKED[None], 0, ParameterError, r"packed .*\(n, 160\)"),
        (np.zeros((2, 400), np.uint8), 0, ParameterError, r"packed .*\(n, 160\)"),
        (WORDS, 0, DtypeError, "packed"),
        ("x", 0, DtypeError, "packed"),
        (None, 0, DtypeError, "packed"),
        ([1, 2], 0, DtypeError, "packed"),
        (PACKED.astype(float), 0, DtypeError, "packed"),
        (PACKED, 2, ParameterError, "party .*got 2"),
    ],
)
def test_wrong_and_damaged_keys_are_refused(packed, party, error, words):
    with pytest.raises(error, match=words):
        comparison.Keys.from_packed(packed, BITS, party)


@pytest.mark.parametrize(
    ("keys", "bits", "party", "error", "words"),
    [
        (WORDS[:, :-1].copy(), BITS, 0, ParameterError, r"words .*\(n, 20\)"),
        (WORDS[0], BITS, 0, ParameterError, r"words .*\(n, 20\)"),
        (WORDS[None], BITS, 0, ParameterError, r"words .*\(n, 20\)"),
        (WORDS, 24, 0, ParameterError, r"words .*\(n, 74\)"),
        (WORDS.view(np.int64), BITS, 0, DtypeError, "words"),
        (WORDS.astype(float), BITS, 0, DtypeError, "words"),
        (WORDS.tolist(), BITS, 0, DtypeError, "words"),
        (WORDS[:, :-1], BITS, 0, ParameterError, "words .*contiguous"),
        (np.repeat(WORDS, 2, axis=0)[::2], BITS, 0, ParameterError, "words .*contiguous"),
        (WORDS, 0, 0, ParameterError, "bits .*got 0"),
        (WORDS, BITS, 2, ParameterError, "party .*got 2"),
    ],
)
def test_keys_have_the_words_of_their_bits(keys, bits, party, error, words):
    with pytest.raises(error, match=words):
        comparison.Keys(keys, bits, party)


def test_damage_that_cannot_be_seen_is_not_refused():
    assert len(comparison.Keys.from_packed(damaged(3, CONTROL, 7), BITS, 0)) == 7


@pytest.mark.parametrize("value", [-1, 64, 12345])
def test_values_beyond_are_refused_and_not_shown(value):
    with pytest.raises(ParameterError, match=r"^values .*2\^6 - 1") as caught:
        comparison.gen([1, value, 2], BITS)
    assert str(value) not in str(caught.value)


def test_the_last_of_all_values_and_no_more():
    first, second = comparison.gen(np.array([2**32 - 1], np.uint64), 32)
    shares = [comparison.evaluate(keys, [2**32 - 2, 2**32 - 1]) for keys in (first, second)]
    assert (shares[0] + shares[1]).tolist() == [[0, 1]]
    for beyond in (np.array([2**32], np.uint64), np.array([2**64 - 1], np.uint64), 2**70):
        with pytest.raises((ParameterError, DtypeError), match="values"):
            comparison.gen(beyond, 32)


@pytest.mark.parametrize("evaluate", [comparison.evaluate, comparison.evaluate_sum])
@pytest.mark.parametrize(
    ("thresholds", "error", "words"),
    [
        ([3, 64], ParameterError, "thresholds .*got 64"),
        (-1, ParameterError, "thresholds .*got -1"),
        (np.array([0, 2**63], np.uint64), ParameterError, f"thresholds .*got {2**63}"),
        (np.array([0, 2**64 - 1], np.uint64), ParameterError, f"thresholds .*got {2**64 - 1}"),
        ([0.5], DtypeError, "thresholds"),
        ([[1]], ParameterError, "thresholds"),
    ],
)
def test_thresholds_that_there_are_not_are_refused(evaluate, thresholds, error, words):
    with pytest.raises(error, match=words):
        evaluate(FIRST, thresholds)
    with pytest.raises(DtypeError, match=r"keys .*got bytes"):
        evaluate(PACKED.tobytes(), [1])
    with pytest.raises(ParameterError, match="workers"):
        evaluate(FIRST, [1], workers=0)
    (keys, _) = comparison.gen([1], 32)
    with pytest.raises(ParameterError, match=f"thresholds .*got {2**63}"):
        evaluate(keys, np.array([2**63], np.uint64))


@pytest.mark.parametrize(
    ("make", "error", "name"),
    [
        (lambda: comparison.gen([0.0], BITS), DtypeError, "values"),
        (lambda: comparison.gen([True], BITS), DtypeError, "values"),
        (lambda: comparison.gen(["1"], BITS), DtypeError, "values"),
        (lambda: comparison.gen(None, BITS), DtypeError, "values"),
        (lambda: comparison.gen([[1]], BITS), ParameterError, "values"),
        (lambda: comparison.gen([1], BITS, rng=1), DtypeError, "rng"),
        (lambda: comparison.gen([0], 0), ParameterError, "bits"),
        (lambda: comparison.gen([0], 33), ParameterError, "bits"),
        (lambda: comparison.Keys.from_packed(PACKED, 0, 0), ParameterError, "bits"),
        (lambda: comparison.key_bytes(0), ParameterError, "bits"),
        (lambda: comparison.key_bytes(33), ParameterError, "bits"),
        # all thresholds of so many bits have to be asked for
        (lambda: comparison.evaluate_sum(comparison.gen([1], 25)[0]), ParameterError, "thresholds"),
    ],
)
def test_other_arguments_are_refused(make, error, name):
    with pytest.raises(error, match=name):
        make()


def test_thresholds_share_the_nodes_above_them():
    """One walk: 3 blocks for each inner node of a full tree, and 4 for each leaf."""
    assert plan(np.arange(2**10), 10).blocks == 3 * (2**7 - 1) + 4 * 2**7
    assert plan(np.array([77]), 10).blocks == 2 * 7 + 1
    assert plan(np.array([76, 77, 77]), 10).blocks == 2 * 7 + 1
    assert plan(np.array([0, 1023]), 10).blocks == 3 + 2 * 2 * 6 + 2


def test_pieces_are_of_neighbours_in_whatever_order_thresholds_are_asked():
    thresholds = np.random.default_rng(4).permutation(2**14) + 77
    pieces = evaluation._pieces(thresholds)
    parts = [np.sort(thresholds[piece]) for piece in pieces]
    assert [part.size for part in parts] == [2**12] * 4
    assert np.array_equal(np.concatenate(parts), 77 + np.arange(2**14))


@pytest.mark.needs_jit
def test_memory_of_sums_does_not_grow_with_clients_or_with_bits():
    thresholds = np.arange(0, 2**16, 100)

    def peak(clients):
        keys, _ = comparison.gen(np.zeros(clients, int), 16)
        comparison.evaluate_sum(keys, thresholds, workers=1)
        tracemalloc.start()
        comparison.evaluate_sum(keys, thresholds, workers=1)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(3000) < 1.05 * peak(1000)
