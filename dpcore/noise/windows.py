"""Windows of random words: what samplers among the kernels are shown of a stream.

A sampler cannot finish a draw that its window ends in. It rolls that draw back, and the next window
begins with the same words. (Fresh words in their place would favour draws that need few.) Draws by
tables are shown in rows of words, and what a row does not decide is drawn from the words that begin
with it. So what is drawn depends on the stream alone, and not on its windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .sources import Source

__all__ = ["WINDOW", "Rows", "Words", "fill", "fill_from_rows", "next_window"]

WINDOW: Final = 2**14  # new 64-bit words in a window, at most: 128 KiB
_WORDS_PER_DRAW: Final = 4  # a first guess: where draws need more, there are more windows
_Word = TypeVar("_Word", np.uint16, np.uint32)


def next_window(cut_short: NDArray[_Word], fresh: int, stream: Source) -> NDArray[_Word]:
    """Return the words that were cut short, and behind them ``fresh`` 64-bit words of new ones."""
    words = np.empty(fresh, np.uint64)
    stream.fill(words)
    new = words.view(cut_short.dtype)
    return np.concatenate([cut_short, new]) if cut_short.size else new


def fill(
    out: NDArray[np.int64],
    stream: Source,
    sampler: Callable[[NDArray[np.uint32], NDArray[np.int64]], tuple[int, int]],
) -> None:
    """Show the sampler window after window until ``out`` is full.

    It takes a window and what is left of ``out``, and returns how many draws are final there, and
    how many words made them.
    """
    cut_short = np.empty(0, np.uint32)  # words of a draw that the last window ended in
    done = 0
    while done < out.size:
        fresh = min(_WORDS_PER_DRAW * (out.size - done) + 16, WINDOW)
        window = next_window(cut_short, fresh, stream)
        drawn, used = sampler(window, out[done:])
        done += drawn
        cut_short = window[used:]


class Rows(Protocol):
    """A law whose draws take rows of so many words, all but a few of them."""

    words: int

    def sample(self, words: NDArray[np.uint32], out: NDArray[np.int64]) -> tuple[int, int]:
        """Fill ``out`` from rows of words, and return how many entries and rows are done with.

        If there are more of both, the next row does not decide.
        """
        ...

    def one(self, words: Iterator[int]) -> int:
        """Return the draw that begins with the next word, from as many as it takes."""
        ...


class Words:
    """A stream as 32-bit words, in order: in rows, or one by one."""

    def __init__(self, stream: Source) -> None:
        self._stream = stream
        self._left = np.empty(0, np.uint32)

    def rows(self, count: int, length: int) -> NDArray[np.uint32]:
        """Return the next rows, at most a window and at least one, without using them up."""
        most = max(2 * WINDOW // length, 2) & ~1  # even: no single word is left over
        count = min(count, most)
        missing = count * length - self._left.size
        if missing > 0:
            self._left = next_window(self._left, -(-missing // 2), self._stream)
        return self._left[: count * length].reshape(count, length)

    def skip(self, count: int) -> None:
        """Use up so many words of the rows that were shown."""
        self._left = self._left[count:]

    def __iter__(self) -> Words:
        return self

    def __next__(self) -> int:
        word = int(self.rows(1, 1)[0, 0])
        self.skip(1)
        return word


def fill_from_rows(out: NDArray[np.int64], stream: Source, law: Rows) -> None:
    """Fill ``out`` row by row, and draw what a row does not decide from its words and more.

    No more words are read than these draws take, but for half of a 64-bit word: no draw takes less
    than a row.
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
