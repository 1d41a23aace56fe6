"""Windows of random words: what samplers among the kernels are shown of a stream.

A sampler cannot finish a draw that its window ends in. It rolls that draw back, and the next window
begins with the same words. (Fresh words in their place would favour draws that need few.) So what
is drawn depends on the stream alone, and not on its windows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from .sources import Source

__all__ = ["WINDOW", "fill", "next_window"]

WINDOW: Final = 2**15  # new 64-bit words in a window, at most
_WORDS_PER_DRAW: Final = 4  # Laplace; where draws need more, there is one more window
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
