"""Machine code is called with what it was made for: the wrong arguments would crash the process."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
from typing import NamedTuple

import numba
import numpy as np
import pytest

from dpcore.kernels._arguments import described
from dpcore.kernels._compile import kernel

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="interpreted kernels have no machine code"
)


class Mine(np.ndarray):
    pass


class Line(NamedTuple):
    slope: float
    start: np.uint64


class Other(NamedTuple):
    start: float
    slope: np.uint64


def same(x):
    return x


def total(array):
    result = 0.0
    for each in array.flat:
        result += each
    return result


def kept(shape, dtype=np.float64):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def read_only(array):
    array = array.copy(order="K")
    array.flags.writeable = False
    return array


def unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    raw[...] = array
    assert not raw.flags.aligned
    return raw


ARRAYS = {
    "float64[1C]": kept(6),
    "float64[1A]": kept(12)[::2],
    "float64[1C readonly]": read_only(kept(6)),
    "float64[1C unaligned]": unaligned(kept(6)),
    "float64[2C]": kept((2, 3)),
    "float64[2F]": kept((2, 3)).T.copy().T,
    "float64[2A]": kept((4, 6))[::2, ::2],
    "float64[2A readonly]": read_only(kept((4, 6)))[::2, ::2],
    "float64[3C]": kept((2, 3, 2)),
    "float32[1C]": kept(6, np.float32),
    "int64[1C]": kept(6, np.int64),
    "uint64[1C]": kept(6, np.uint64),
    "int32[1C]": kept(6, np.int32),
    "uint8[1C]": kept(6, np.uint8),
    "bool[1C]": kept(6) > 2,
}
NUMBERS = {
    "int64": [0, -7, 2**63 - 1, -(2**63), np.int64(-3), np.longlong(5)],
    "uint64": [2**63, 2**64 - 1, np.uint64(3)],
    "int32": [np.int32(-3)],
    "uint16": [np.uint16(65535)],
    "uint8": [np.uint8(255)],
    "float64": [0.5, -0.0, np.float64(2.5), np.inf],
    "float32": [np.float32(0.1)],
    "bool": [True, False, np.True_, np.False_],
}
REFUSED = [None, "1", b"1", [1.0], {1}, 1j, kept(3).astype(complex), np.array(["a"]), object()]


@pytest.mark.parametrize("types", ARRAYS)
def test_each_entry_takes_arrays_of_its_types_alone(types):
    compiled = kernel(total)
    assert compiled(ARRAYS[types]) == ARRAYS[types].sum()
    (entry,) = compiled._entries
    for name, array in ARRAYS.items():
        assert described((array,))[0] == name
        assert (entry(array) is not NotImplemented) == (name == types)
    assert entry() is NotImplemented
    assert entry(ARRAYS[types], ARRAYS[types]) is NotImplemented
    for each in [*REFUSED, 1, 1.0, True, ARRAYS[types].view(Mine)]:
        assert entry(each) is NotImplemented


def test_other_types_make_other_entries():
    compiled = kernel(total)
    for array in [*ARRAYS.values()] * 2:
        assert compiled(array) == array.sum()
    assert len(compiled._entries) == len(ARRAYS)


def test_a_scalar_in_an_array_and_no_record():
    compiled = kernel(total)
    assert compiled(np.array(2.5)) == 2.5
    assert compiled(np.zeros(0)) == 0.0
    assert compiled(np.zeros((0, 3))) == 0.0


@pytest.mark.parametrize("types", NUMBERS)
def test_each_entry_takes_numbers_of_its_type_alone(types):
    compiled = kernel(same)
    for number in NUMBERS[types]:
        result = compiled(number)
        assert result == number
        assert type(result) is {"i": int, "u": int, "f": float, "b": bool}[types[0]]
    (entry,) = compiled._entries
    for name, numbers in NUMBERS.items():
        for number in numbers:
            if type(number) is int and number >= 2**63:
                assert entry(number) is NotImplemented  # it comes as NumPy's
            else:
                assert (entry(number) is not NotImplemented) == (name == types)
    for each in [*REFUSED, kept(1), np.array(1.0)]:
        assert entry(each) is NotImplemented


@pytest.mark.parametrize("argument", REFUSED)
def test_what_is_neither_array_nor_number_is_refused(argument):
    with pytest.raises(TypeError, match="kernels take"):
        kernel(same)(argument)


def test_arrays_in_the_other_order_of_bytes_are_refused():
    compiled = kernel(total)
    compiled(kept(6))
    array = kept(6).astype(kept(6).dtype.newbyteorder())
    assert compiled._entries[0](array) is NotImplemented
    with pytest.raises(TypeError, match="order of bytes"):
        compiled(array)


def test_equal_types_of_numbers_are_one():
    compiled = kernel(total)
    for dtype in (np.dtype("l"), np.dtype("q"), np.dtype("i8", metadata={"of": "nothing"})):
        if dtype == np.int64:
            assert compiled(kept(6).astype(dtype)) == 15.0
    assert len(compiled._entries) == 1


def test_subclasses_come_as_the_arrays_that_they_are():
    compiled = kernel(total)
    assert compiled(kept(6).view(Mine)) == compiled(kept(6)) == 15.0
    assert len(compiled._entries) == 1
    with pytest.raises(TypeError, match="MaskedArray"):
        compiled(np.ma.array(kept(6)))


def test_tuples_are_taken_by_their_class():
    compiled = kernel(lambda line: line.slope)
    assert compiled(Line(2.0, np.uint64(3))) == 2.0
    (entry,) = compiled._entries
    assert entry(Line(4.0, np.uint64(5))) == 4.0
    for each in [(2.0, np.uint64(3)), Line(2.0, 3), Line(2, np.uint64(3)), 2.0, kept(2)]:
        assert entry(each) is NotImplemented
    assert entry(Other(2.0, np.uint64(3))) is NotImplemented
    assert compiled(Other(2.0, np.uint64(3))) == 3
    assert compiled(Line(6.0, np.uint64(3))) == 6.0


def test_tuples_hold_tuples_and_arrays():
    compiled = kernel(lambda pair: pair[0][1] + pair[1][0])
    assert compiled(((1, 2.5), kept(3) + 1)) == 3.5
    assert compiled._entries[0](((1, 2), kept(3))) is NotImplemented


def several(n):
    array = np.empty(n)
    for i in range(n):
        array[i] = i
    return array, (n, True, 0.5), np.zeros((n, 2), np.uint32)


def test_results_are_objects_of_python_and_arrays_that_own_their_memory():
    array, numbers, second = kernel(several)(3)
    assert array.tolist() == [0.0, 1.0, 2.0]
    assert (numbers, type(numbers[1])) == ((3, True, 0.5), bool)
    assert (second.dtype, second.shape) == (np.uint32, (3, 2))
    for each in (array, second):
        assert each.flags.c_contiguous
        assert each.flags.writeable
        assert each.flags.aligned
    view = array[1:]
    del array, second
    gc.collect()
    assert view.tolist() == [1.0, 2.0]


def test_memory_is_given_back():
    compiled = kernel(several)
    compiled(3)
    argument = kept(4)
    adds = kernel(total)
    adds(argument)
    before = sys.getrefcount(argument), sys.getrefcount(NotImplemented), sys.getrefcount(None)
    tracemalloc.start()
    try:
        for _ in range(100):
            compiled(100_000)
            adds(argument)
            adds._entries[0](None)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 1_600_000 <= most < 5_000_000
    assert held < 100_000
    after = sys.getrefcount(argument), sys.getrefcount(NotImplemented), sys.getrefcount(None)
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 20


def test_what_a_kernel_raises_is_raised():
    compiled = kernel(lambda a, b: a // b)
    assert compiled(7, 2) == 3
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            compiled(1, 0)
    with pytest.raises(MemoryError):
        kernel(several)(2**55)


def test_a_kernel_that_returns_what_it_was_given_is_told():
    with pytest.raises(RuntimeError, match="that it was given"):
        kernel(same)(kept(3))


def test_what_has_no_entry_is_called_by_numba():
    compiled = kernel(lambda x: None if x > 0 else x)  # optional
    assert compiled(-2) == -2
    assert compiled(2) is None
    assert compiled._entries == ()


def test_first_calls_at_the_same_time():
    compiled = kernel(total)
    results, barrier = [], threading.Barrier(8)

    def call():
        barrier.wait()
        results.append(compiled(kept(6)))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [15.0] * 8
    assert len(compiled._entries) == 1


def test_kernels_run_without_the_gil():
    """A kernel waits for what Python writes meanwhile."""

    def wait(flag, counter):
        rounds = 0
        while flag[0] == 0 and rounds < 10**10:
            rounds += 1
            flag[counter] = rounds  # it could be flag[0], which is thus read in every round
        return rounds

    compiled = kernel(wait)
    flag = np.ones(2, np.int64)
    compiled(flag, 1)
    flag[:] = 0
    timer = threading.Timer(0.05, flag.__setitem__, (0, 1))
    timer.start()
    assert compiled(flag, 1) < 10**10
    timer.join()
