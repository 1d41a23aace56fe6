"""Windows of random words, through which the samplers among the kernels read a stream.

A sampler cannot finish a draw if its window ends inside the draw. It rolls that draw back, and the
next window begins with the same words. (New words in their place would favour draws that need few.)
Draws by tables read rows of words. If a row does not decide a draw, the words from that row on do.
So the draws depend only on the stream, and not on its windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from .sources import Source

__all__ = ["WINDOW", "Rows", "Words", "fill", "fill_from_rows", "flat", "next_window"]

WINDOW: Final = 2**14  # the largest number of new 64-bit words in a window: 128 KiB
_WORDS_PER_DRAW: Final = 4  # a first guess; if draws need more, there are more windows
_Word = TypeVar("_Word", np.uint16, np.uint32)


def flat(out: object) -> NDArray[np.int64]:
    """Return a caller's array that is to be overwritten as a row, (size,), in the same memory.

    Raises
    ------
    DtypeError, ParameterError
        It is not a contiguous int64 array, or it is read-only. A kernel would write beyond the end
        of some such arrays.
    """
    array = _check.array_itself("out", out, np.int64)
    if not array.flags.writeable:
        raise ParameterError("out", "a read-only array", "must be writeable")
    return array.reshape(-1)


def next_window(cut_short: NDArray[_Word], fresh: int, stream: Source) -> NDArray[_Word]:
    """Return the words of the unfinished draw, and behind them ``fresh`` new 64-bit words."""
    words = np.empty(fresh, np.uint64)
    stream.fill(words)
    new = words.view(cut_short.dtype)
    return np.concatenate([cut_short, new]) if cut_short.size else new


def fill(
    out: NDArray[np.int64],
    stream: Source,
    sampler: Callable[[NDArray[np.uint32], NDArray[np.int64]], tuple[int, int]],
) -> None:
    """Give the sampler window after window until ``out`` is full.

    The sampler takes a window and the rest of ``out``. It returns the number of draws that are
    final, and the number of words that they took.
    """
    cut_short = np.empty(0, np.uint32)  # words of an incomplete draw at the end of the last window
    done = 0
    while done < out.size:
        fresh = min(_WORDS_PER_DRAW * (out.size - done) + 16, WINDOW)
        window = next_window(cut_short, fresh, stream)
        drawn, used = sampler(window, out[done:])
        done += drawn
        cut_short = window[used:]


class Rows(Protocol):
    """A law for which nearly every draw takes one row of words."""

    words: int

    def sample(self, words: NDArray[np.uint32], out: NDArray[np.int64]) -> tuple[int, int]:
        """Fill ``out`` from rows of words, and return how many entries and rows are done with.

        If there are more of both, the next row does not decide.
        """
        ...

    def one(self, words: Iterator[int]) -> int:
        """Return the draw that begins with the next word, from as many words as needed."""
        ...


class Words:
    """A stream of 32-bit words, read in order, in rows or one by one."""

    def __init__(self, stream: Source) -> None:
        self._stream = stream
        self._left = np.empty(0, np.uint32)

    def rows(self, count: int, length: int) -> NDArray[np.uint32]:
        """Return the next rows, at most a window and at least one, without using them up."""
        most = max(2 * WINDOW // length, 2) & ~1  # even, so that no single word is left over
        count = min(count, most)
        missing = count * length - self._left.size
        if missing > 0:
            self._left = next_window(self._left, -(-missing // 2), self._stream)
        return self._left[: count * length].reshape(count, length)

    def skip(self, count: int) -> None:
        """Use up ``count`` words of the rows that were shown."""
        self._left = self._left[count:]

    def __iter__(self) -> Words:
        return self

    def __next__(self) -> int:
        word = int(self.rows(1, 1)[0, 0])
        self.skip(1)
        return word


def fill_from_rows(out: NDArray[np.int64], stream: Source, law: Rows) -> None:
    """Fill ``out`` row by row; a draw that its row does not decide takes more words.

    No more words are read than these draws take, except for half of a 64-bit word, since no draw
    takes less than a row.
    """
    words = Words(stream)
    done = 0
    while done < out.size:
        rows = words.rows(out.size - done, law.words)
        drawn, used = law.sample(rows, out[done:])
        words.skip(used * law.words)
        done += drawn
        if used < len(rows) and done < out.size:
            out[done] = law.one(words)
            done += 1
