"""Comparison functions as they are called: shapes, threads, keys as bytes, and what is refused."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import comparison
from dpcore.trust.comparison import evaluation, walk
from dpcore.trust.comparison.plan import plan

BITS = 6
VALUES = [5, 0, 63, 17, 17, 32, 8]
FIRST, SECOND = comparison.gen(VALUES, BITS, rng=np.random.default_rng(1))


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


@pytest.mark.sample(6)
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


def test_read_keys_are_a_copy():
    packed = FIRST.packed.copy()
    read = comparison.Keys.from_packed(packed, BITS, 0)
    packed[:] = 0
    assert np.array_equal(read.packed, FIRST.packed)


def test_copied_keys_are_the_same_and_cannot_be_written_to():
    for copied in (pickle.loads(pickle.dumps(SECOND)), copy.copy(SECOND), copy.deepcopy(SECOND)):
        assert (copied.bits, copied.party) == (BITS, 1)
        assert np.array_equal(copied.packed, SECOND.packed)
        assert not copied.packed.flags.writeable


def test_nothing_of_a_key_is_shown():
    assert repr(SECOND) == str(SECOND) == "Keys(of 7 clients, bits=6, party=1)"


def damaged(row, byte, bits):
    packed = FIRST.packed.copy()
    packed[row, byte] ^= bits
    return packed


def test_keys_of_the_other_party_are_refused():
    with pytest.raises(ParameterError, match="packed must be party 1's; got 'a key of the other"):
        comparison.Keys.from_packed(FIRST.packed, BITS, 1)
    with pytest.raises(ParameterError, match="must be party 0's"):
        comparison.Keys.from_packed(SECOND.packed.tobytes(), BITS, 0)
    with pytest.raises(ParameterError, match="must be party 0's"):
        comparison.Keys.from_packed(np.concatenate([FIRST.packed, SECOND.packed[:1]]), BITS, 0)
    with pytest.raises(ParameterError, match="must be party 0's"):
        comparison.Keys.from_packed(damaged(6, 0, 1), BITS, 0)


def test_damaged_keys_are_refused_where_it_can_be_seen():
    control = 8 * (2 + 3 * 3)  # a bit for each of three levels
    for byte, bits in [(control, 8), (control, 128), (control + 1, 1), (control + 7, 128)]:
        with pytest.raises(ParameterError, match="must have no bits for levels"):
            comparison.Keys.from_packed(damaged(3, byte, bits), BITS, 0)
    assert len(comparison.Keys.from_packed(damaged(3, control, 7), BITS, 0)) == 7


@pytest.mark.parametrize("packed", [bytes(1), bytes(159), bytes(161), bytes(319)])
def test_truncated_bytes_are_refused(packed):
    with pytest.raises(ParameterError, match="packed must hold keys of 160 bytes each; got"):
        comparison.Keys.from_packed(packed, BITS, 0)


def test_keys_of_other_shapes_and_types_are_refused():
    for packed in (FIRST.packed[:, :-1], FIRST.packed[None], np.zeros((2, 400), np.uint8)):
        with pytest.raises(ParameterError, match=r"packed must have shape \(n, 160\)"):
            comparison.Keys.from_packed(packed, BITS, 0)
    for packed in (FIRST.words, "x", None, [1, 2], FIRST.packed.astype(float)):
        with pytest.raises(DtypeError, match="packed must hold"):
            comparison.Keys.from_packed(packed, BITS, 0)
    with pytest.raises(ParameterError, match="party must be one of 0, 1; got 2"):
        comparison.Keys.from_packed(FIRST.packed, BITS, 2)
    with pytest.raises(ParameterError, match="bits must be between 1 and 32; got 0"):
        comparison.Keys.from_packed(FIRST.packed, 0, 0)


def test_keys_have_the_words_of_their_bits():
    for words in (FIRST.words[:, :-1].copy(), FIRST.words[0], FIRST.words[None]):
        with pytest.raises(ParameterError, match=r"words must have shape \(n, 20\)"):
            comparison.Keys(words, BITS, 0)
    for words in (FIRST.words.view(np.int64), FIRST.words.astype(float), FIRST.words.tolist()):
        with pytest.raises(DtypeError, match="words must be an array of uint64"):
            comparison.Keys(words, BITS, 0)
    with pytest.raises(ParameterError, match=r"words must have shape \(n, 74\)"):
        comparison.Keys(FIRST.words, 24, 0)
    for words in (FIRST.words[:, :-1], np.repeat(FIRST.words, 2, axis=0)[::2]):
        with pytest.raises(ParameterError, match="words must be contiguous"):
            comparison.Keys(words, BITS, 0)
    with pytest.raises(ParameterError, match="bits must be between 1 and 32; got 0"):
        comparison.Keys(FIRST.words, 0, 0)
    with pytest.raises(ParameterError, match="party must be one of 0, 1; got 2"):
        comparison.Keys(FIRST.words, BITS, 2)


@pytest.mark.parametrize("value", [-1, 64, 12345])
def test_values_beyond_are_refused_and_not_shown(value):
    with pytest.raises(ParameterError, match=r"^values must be 0 to 2\^6 - 1") as caught:
        comparison.gen([1, value, 2], BITS)
    assert str(value) not in str(caught.value)


def test_the_last_of_all_values_and_no_more():
    first, second = comparison.gen(np.array([2**32 - 1], np.uint64), 32)
    shares = [comparison.evaluate(keys, [2**32 - 2, 2**32 - 1]) for keys in (first, second)]
    assert (shares[0] + shares[1]).tolist() == [[0, 1]]
    for beyond in (np.array([2**32], np.uint64), np.array([2**64 - 1], np.uint64), 2**70):
        with pytest.raises((ParameterError, DtypeError), match="values must"):
            comparison.gen(beyond, 32)


@pytest.mark.parametrize("bits", [1, 32])
@pytest.mark.parametrize("beyond", [2**63, 2**64 - 1])
def test_thresholds_that_are_negative_in_63_bits_are_refused(bits, beyond):
    keys, _ = comparison.gen([1], bits)
    for evaluate in (comparison.evaluate, comparison.evaluate_sum):
        with pytest.raises(ParameterError, match=rf"thresholds must be .*; got {beyond}"):
            evaluate(keys, np.array([0, beyond], np.uint64))


def test_other_arguments_are_refused():
    for values in ([0.0], [True], ["1"], None):
        with pytest.raises(DtypeError, match="values must hold integers"):
            comparison.gen(values, BITS)
    with pytest.raises(ParameterError, match="values must have one axis"):
        comparison.gen([[1]], BITS)
    with pytest.raises(DtypeError, match="rng"):
        comparison.gen([1], BITS, rng=1)
    for bits in (0, 33):
        with pytest.raises(ParameterError, match="bits must be between 1 and 32"):
            comparison.gen([0], bits)
        with pytest.raises(ParameterError, match="bits must be between 1 and 32"):
            comparison.key_bytes(bits)
    for evaluate in (comparison.evaluate, comparison.evaluate_sum):
        with pytest.raises(DtypeError, match=r"keys must be comparison\.Keys; got bytes"):
            evaluate(FIRST.packed.tobytes(), [1])
        with pytest.raises(ParameterError, match=r"thresholds must be 0 to 2\^6 - 1; got 64"):
            evaluate(FIRST, [3, 64])
        with pytest.raises(ParameterError, match=r"thresholds must be 0 to 2\^6 - 1; got -1"):
            evaluate(FIRST, -1)
        with pytest.raises(DtypeError, match="thresholds must hold integers"):
            evaluate(FIRST, [0.5])
        with pytest.raises(ParameterError, match="thresholds must have one axis"):
            evaluate(FIRST, [[1]])
        with pytest.raises(ParameterError, match="workers must be between 1"):
            evaluate(FIRST, [1], workers=0)


def test_all_thresholds_of_many_bits_have_to_be_asked_for():
    keys, _ = comparison.gen([1], 25)
    with pytest.raises(ParameterError, match="thresholds must be given for keys of more than 24"):
        comparison.evaluate_sum(keys)


def test_thresholds_share_the_nodes_above_them():
    """One walk: 3 blocks for each inner node of a full tree, and 4 for each leaf."""
    assert plan(np.arange(2**10), 10).blocks == 3 * (2**7 - 1) + 4 * 2**7
    assert plan(np.array([77]), 10).blocks == 2 * 7 + 1
    assert plan(np.array([76, 77, 77]), 10).blocks == 2 * 7 + 1
    assert plan(np.array([0, 1023]), 10).blocks == 3 + 2 * 2 * 6 + 2


def test_pieces_are_of_neighbours_in_whatever_order_thresholds_are_asked():
    thresholds = np.random.default_rng(4).permutation(2**14) + 77
    pieces = evaluation._pieces(thresholds)
    found = [np.sort(thresholds[piece]) for piece in pieces]
    assert [each.size for each in found] == [2**12] * 4
    assert np.array_equal(np.concatenate(found), 77 + np.arange(2**14))


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


@pytest.mark.parametrize("name", ["bits", "party", "words", "packed"])
def test_whose_keys_they_are_is_not_changed(name):
    first, _ = comparison.gen([3], 4)
    with pytest.raises(AttributeError):
        setattr(first, name, getattr(first, name))
