"""The end of the complete rows in a piece of CSV text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel

_LINE_FEED, _CARRIAGE_RETURN, _QUOTE = 10, 13, 34


@kernel
def complete_rows(text: NDArray[np.uint8], delimiter: int) -> int:
    r"""Return the number of bytes of the complete rows at the start of a text.

    Parameters
    ----------
    text
        (n,) bytes of CSV that begin with a row. The rest of the last row may be missing.
    delimiter
        The byte between cells.

    Returns
    -------
    int
        The end of the last complete row, 0 if no row is complete.

    Notes
    -----
    The rules are those of Arrow's reader. A quote opens a cell that may hold line breaks only if it
    is the first byte of the cell. In such a cell, two quotes stand for one. Anywhere else a quote
    is a byte like others. Rows end with \n, \r\n or \r, so a \r that is the last byte decides
    nothing yet.

    Invariant: ``quoted`` and ``fresh`` (a cell starts here) describe the state before byte i, and
    all rows before ``end`` are complete.
    """
    end = 0
    fresh, quoted = True, False
    i = 0
    while i < text.size:
        byte = text[i]
        if quoted:
            if byte == _QUOTE:
                if i + 1 < text.size and text[i + 1] == _QUOTE:
                    i += 1
                else:
                    quoted = False
        elif fresh and byte == _QUOTE:
            fresh, quoted = False, True
        elif byte == _LINE_FEED:
            fresh = True
            end = i + 1
        elif byte == _CARRIAGE_RETURN:
            fresh = True
            if i + 1 < text.size and text[i + 1] != _LINE_FEED:
                end = i + 1
        else:
            fresh = byte == delimiter
        i += 1
    return end
