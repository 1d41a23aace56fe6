"""What the command line makes of a release: a summary to print, and a picture."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Final

import numpy as np

from .curve import CDF
from .statistics.roc import ROC

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["picture", "roc_picture", "roc_summary", "summary"]

_PERCENT: Final = (1, 5, 10, 25, 50, 75, 90, 95, 99)
_FALSE_PERCENT: Final = (1, 2, 5, 10, 20, 50)


def summary(curve: CDF, column: str) -> str:
    """Return a few lines on a release and its quantiles."""
    error = float(curve.standard_error().max())
    error_text = f"{error:.2g} (privacy noise in the share at a value)"
    rows = {
        "column": _shown(column),
        **_about(curve),
        "std. error": error_text if np.isfinite(error) else "not known: it depends on the data",
    }
    quantiles = curve.quantile(np.array(_PERCENT) / 100)
    table = [f"{p:>7} %  {q:>16.10g}" for p, q in zip(_PERCENT, quantiles, strict=True)]
    return "\n".join([*_lines(rows), "", f"{'share':>9}  {'quantile':>16}", *table])


def roc_summary(roc: ROC, label: str, positive: str, score: str) -> str:
    """Return a few lines on a release and its ROC curve."""
    rows = {
        "label": f"{_shown(label)}, positive if {_shown(positive)}",
        "score": _shown(score),
        **_about(roc.curves.joint),
        "positives": f"{roc.curves.positives[-1]:.0f} (released)",
        "AUC": f"{roc.auc:.4g}",
    }
    if np.isnan(roc.auc):
        return "\n".join([*_lines(rows), "", "No ROC curve: a released class has no records."])
    low, high = roc.band()[2:]
    table = []
    for percent in _FALSE_PERCENT:
        at = int(np.searchsorted(roc.fpr, percent / 100, side="right")) - 1
        table.append(
            f"{percent:>7} %  {roc.tpr[at]:>10.2%}  {low[at]:>7.2%} -{high[at]:>8.2%}"
            f"  {roc.thresholds[at]:>16.10g}"
        )
    heading = f"{'FPR up to':>9}  {'TPR':>10}  {'95% (noise)':>17}  {'scores above':>16}"
    return "\n".join([*_lines(rows), "", heading, *table])


def picture(curve: CDF, column: str, form: str) -> bytes:
    """Return the curve drawn, as a file of Matplotlib's format ``form``."""
    figure = _figure(7, 4.5)
    ax = curve.plot(figure.subplots())
    ax.set_xlabel(column, parse_math=False)  # dollars are dollars
    ax.legend(loc="lower right")  # below the curve
    return _drawn(figure, form)


def roc_picture(roc: ROC, score: str, form: str) -> bytes:
    """Return the ROC curve drawn, as a file of Matplotlib's format ``form``."""
    figure = _figure(5.5, 5.5)
    ax = roc.plot(figure.subplots())
    ax.set_title(f"{score}: AUC {roc.auc:.4g}", parse_math=False)
    ax.legend(loc="lower right")
    return _drawn(figure, form)


def _about(curve: CDF) -> dict[str, object]:
    """Return what is to be said of every release."""
    parameters = [f"{key} {value}" for key, value in curve.mechanism.items()]
    return {
        "records": curve.n,
        "privacy": curve.privacy,
        "mechanism": ", ".join(parameters).removeprefix("name "),
        "curve": ", ".join(curve.processing) or "raw",
    }


def _lines(rows: dict[str, object]) -> list[str]:
    return [f"{name:<12}{value}" for name, value in rows.items()]


def _shown(name: str) -> str:
    return name if name.isprintable() else repr(name)


def _figure(width: float, height: float) -> Figure:
    """Return a figure without a display, and not one of pyplot's, which are the process's."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _drawn(figure: Figure, form: str) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font lacks
        figure.savefig(file, format=form, dpi=150)
    return file.getvalue()
