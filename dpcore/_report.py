"""What the command line makes of a curve: a summary to print, and a picture."""

from __future__ import annotations

import io
import warnings
from typing import Final

import numpy as np

from .curve import CDF

__all__ = ["picture", "summary"]

_PERCENT: Final = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def summary(curve: CDF, column: str) -> str:
    """Return a few lines on a release and its quantiles."""
    parameters = [f"{key} {value}" for key, value in curve.mechanism.items()]
    error = float(curve.standard_error().max())
    error_text = f"{error:.2g} (privacy noise in the share at a value)"
    rows = {
        "column": column if column.isprintable() else repr(column),
        "records": curve.n,
        "privacy": curve.privacy,
        "mechanism": ", ".join(parameters).removeprefix("name "),
        "curve": ", ".join(curve.processing) or "raw",
        "std. error": error_text if np.isfinite(error) else "not known: it depends on the data",
    }
    lines = [f"{name:<12}{value}" for name, value in rows.items()]
    quantiles = curve.quantile(np.array(_PERCENT) / 100)
    table = [f"{p:>7} %  {q:>16.10g}" for p, q in zip(_PERCENT, quantiles, strict=True)]
    return "\n".join([*lines, "", f"{'share':>9}  {'quantile':>16}", *table])


def picture(curve: CDF, column: str, form: str) -> bytes:
    """Return the curve drawn, as a file of Matplotlib's format ``form``.

    Without a display, and without pyplot's figures, which belong to the whole process.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = curve.plot(figure.subplots())
    ax.set_xlabel(column, parse_math=False)  # dollars are dollars
    ax.legend(loc="lower right")  # below the curve
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font lacks
        figure.savefig(file, format=form, dpi=150)
    return file.getvalue()
