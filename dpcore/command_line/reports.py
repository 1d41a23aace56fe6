"""Parts of what commands print and draw."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..curves.cdf import CDF
from ..curves.confidence import Interval
from ..curves.plots import drawable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["about", "between", "drawn", "figure_of", "lines", "picture", "shown"]


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


def between(interval: Interval[float]) -> str:
    """Return the ends of an interval as a text."""
    return f"{interval.low:.4g} to {interval.high:.4g}"


def picture(
    released: Any,
    form: str,
    *,
    size: tuple[float, float],
    legend: str,
    title: str = "",
    xlabel: str | None = None,
) -> bytes:
    """Return a release drawn by its ``plot``, as a file of Matplotlib's format ``form``.

    The results of a mapping from groups are drawn into one picture, under the legend that the
    mapping makes if it has a ``plot`` of its own.
    """
    figure = figure_of(*size)
    ax: Any = figure.subplots()
    has_plot = hasattr(released, "plot")
    if has_plot:
        released.plot(ax)
    else:
        for group, one in released.items():
            one.plot(ax, label=drawable(str(group)))
    ax.set_title(drawable(title), parse_math=False)  # a dollar sign is not mathematics
    if xlabel is not None:
        ax.set_xlabel(drawable(xlabel), parse_math=False)
    if not (has_plot and isinstance(released, Mapping)):
        ax.legend(loc=legend)
    return drawn(figure, form)


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
