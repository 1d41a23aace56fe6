"""The output for a release: a summary to print, and a picture."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..curves.cdf import CDF

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["about", "drawn", "figure_of", "lines", "picture", "shown", "summary"]

_PERCENT: Final = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def summary(curve: CDF, column: str) -> str:
    """Return a few lines about a release and its quantiles."""
    error = float(curve.standard_error().max())
    error_text = f"{error:.2g} (privacy noise in the share at a value)"
    rows = {
        "column": shown(column),
        **about(curve),
        "std. error": error_text if np.isfinite(error) else "not known: it depends on the data",
    }
    quantiles = curve.quantile(np.array(_PERCENT) / 100)
    table = [f"{p:>7} %  {_text(q):>16}" for p, q in zip(_PERCENT, quantiles, strict=True)]
    return "\n".join([*lines(rows), "", f"{'share':>9}  {'quantile':>16}", *table])


def _text(value: Any) -> str:
    """Return a number, a time to the second, or a date, as printed text."""
    if isinstance(value, np.datetime64):
        return str(value if np.datetime_data(value.dtype)[0] == "D" else value.astype("M8[s]"))
    return f"{value:.10g}"


def picture(curve: CDF, column: str, form: str) -> bytes:
    """Return the curve drawn, as a file of Matplotlib's format ``form``."""
    figure = figure_of(7, 4.5)
    ax = curve.plot(figure.subplots())
    ax.set_xlabel(column, parse_math=False)  # a dollar sign is not mathematics
    ax.legend(loc="lower right")  # below the curve
    return drawn(figure, form)


def about(curve: CDF) -> dict[str, object]:
    """Return the lines that every release gets."""
    parameters = [
        f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in curve.mechanism.items()
    ]
    return {
        "records": curve.n,
        "privacy": curve.privacy,
        "mechanism": ", ".join(parameters).removeprefix("name "),
        "curve": ", ".join(curve.processing) or "raw",
    }


def lines(rows: dict[str, object]) -> list[str]:
    """Return one line for each entry."""
    return [f"{name:<12}{value}" for name, value in rows.items()]


def shown(name: str) -> str:
    """Return a name in one line, for any characters in it."""
    return name if name.isprintable() else repr(name)


def figure_of(width: float, height: float) -> Figure:
    """Return a figure without a display. It does not belong to pyplot, whose figures are global."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def drawn(figure: Figure, form: str) -> bytes:
    """Return a figure as a file of Matplotlib's format ``form``."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the font may lack some letters
        figure.savefig(file, format=form, dpi=150)
    return file.getvalue()
