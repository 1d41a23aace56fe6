"""The rates of the buffers of ``BufferedToeplitz``, found by scripts/buffers.py."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["rates"]

# Minus the logarithms of m_1, l_1, m_2, l_2, ..., where c(x) is the product of
# (1 - (1 - l_i) x) / (1 - (1 - m_i) x). A row is for a horizon of 2^4, 2^8, ..., 2^32.
_KNOWN: Final = """
 2.63  1.96  1.85  1.63  1.46  1.31  1.14  0.99  0.83  0.67  0.54  0.40  0.29  0.20  0.12  0.04
 5.39  4.56  4.23  3.83  3.42  3.04  2.70  2.33  1.96  1.61  1.27  0.95  0.67  0.41  0.20  0.05
 8.13  7.10  6.50  5.92  5.38  4.82  4.27  3.71  3.17  2.63  2.10  1.59  1.10  0.67  0.32  0.08
10.83  9.64  8.85  8.08  7.35  6.61  5.89  5.16  4.44  3.72  3.00  2.30  1.63  1.01  0.49  0.13
13.52 12.23 11.28 10.35  9.45  8.54  7.64  6.73  5.83  4.93  4.04  3.15  2.28  1.45  0.72  0.20
16.21 14.80 13.70 12.60 11.53 10.45  9.37  8.30  7.22  6.15  5.07  4.00  2.94  1.92  0.99  0.28
18.87 17.34 16.09 14.82 13.58 12.33 11.08  9.84  8.59  7.34  6.10  4.85  3.62  2.40  1.27  0.37
21.51 19.85 18.44 17.01 15.60 14.18 12.77 11.35  9.94  8.52  7.11  5.69  4.28  2.89  1.56  0.46
"""
_UNKNOWN: Final = """
21.53 19.76 18.04 16.52 14.85 13.40 11.78 10.41  8.84  7.58  6.07  4.94  3.51  2.57  1.24  0.71
"""
_FIRST, _APART = 4, 4  # powers of two: of the first row, and from row to row


def rates(horizon: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return m and l, each (d,), for a horizon, between those of the rows above.

    None: the last row. The deviation at step t is at most 1.41 times the largest deviation of a
    mechanism that knows t as its horizon, both for one norm of a column of C.
    """
    if horizon is None:
        logs = np.array(_UNKNOWN.split(), float)
    else:
        rows = np.array([row.split() for row in _KNOWN.split("\n")[1:-1]], float)
        powers = _FIRST + _APART * np.arange(len(rows))
        logs = np.array([np.interp(np.log2(horizon), powers, column) for column in rows.T])
    both = np.exp(-logs)
    return both[0::2], both[1::2]
