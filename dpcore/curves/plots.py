"""Pictures of arrays, with Matplotlib (the extra ``plot``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from . import colours
from .confidence import deviations, in_percent
from .drawing import subplots
from .legible import dated, every, legend, named, shade, tell_apart, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..privacy import Privacy


__all__ = [
    "Reals",
    "axes",
    "check_reach",
    "corner",
    "covered",
    "drawable",
    "one_legend",
    "plot_bars",
    "plot_box",
    "plot_path",
    "plot_precision",
    "plot_rates",
    "plot_residuals",
    "plot_steps",
    "plot_survival",
    "plot_table",
    "shortly",
]

Corner = Literal["lower left", "lower right", "upper left", "upper right"]
Reals = NDArray[np.float64]

_IN_BAND: Final = 501  # places at which a band against noisy places is drawn
_HIGHEST: Final = 1.5  # how many times as high as all bars a line may be
_WIDE: Final = 6  # so many labels of groups have room beside each other
_USUAL, _SMALL, _LEAST = 10.0, 8.5, 7.0  # the heights of fonts, in points
_NOT_KNOWN: Final = "no band: the noise is not known"
_FROM_0_TO_1: Final = "no band: the {}\nis from 0 to 1"
_EVERYWHERE: Final = 0.95  # a band of so much of the square says nothing
_DRAWN: Final = 2**13  # points, several for each pixel; Matplotlib fails on very long paths
_FARTHEST: Final = 1e307  # Matplotlib has room beside places, and multiplies steps of ticks by 10
_ROW_AT_RISK: Final = 13  # the height of a row of numbers at risk, in points
_BELOW: Final = 46  # where these rows begin, below the axes
_AT_RISK: Final = "dpcore: at risk"
_WITH_LINES: Final = {"linewidth", "linewidths", "lw", "marker"}  # some markers are lines only


def drawable(text: str) -> str:
    """Return the text that pictures show: halves of pairs of surrogates, which no font has, as ?"""
    return text.encode(errors="replace").decode()


def check_reach(places: NDArray[Any]) -> None:
    """Refuse places that Matplotlib has no axis for."""
    if places.dtype.kind != "f":
        return
    far = places[np.isfinite(places) & (np.abs(places) > _FARTHEST)]
    if far.size:
        what = f"must lie within +-{_FARTHEST:g} to be drawn"
        raise ParameterError("grid", float(far[0]), what)


def covered(level: float, *, at_once: bool) -> str:
    """Return what a band of this level covers, for a legend."""
    return f"{in_percent(level)} band for the {'whole curve' if at_once else 'noise'}"


def plot_steps(
    x: Reals,
    y: Reals,
    band: tuple[Reals, Reals] | None,
    name: str,
    *,
    ax: Axes | None,
    covered: str,
    style: dict[str, Any],
) -> Axes:
    """Draw a distribution function as steps with a band around it. See ``CDF.plot``.

    Parameters
    ----------
    x, y
        (N,) the thresholds, which may be datetime64, and the shares of records up to each. NaN: not
        drawn.
    band
        The lower and the upper end, each (N,), or None if there is none.
    name
        The text in the legend, unless the style has a label.
    ax, covered, style
        Axes, or None for new ones; what the band covers; arguments of ``Axes.step``.
    """
    check_reach(x)
    ax = axes(ax)
    at = np.arange(x.size)
    if x.size > _DRAWN:  # the first point, and the last point of each group
        at = np.append(0, np.arange(1, _DRAWN) * x.size // (_DRAWN - 1) - 1)
    left, height = _from_zero(x[at], y[at])
    (steps,) = ax.step(left, height, where="post", **_labelled(ax, name, style))
    if band is None:
        if x.size > 1:  # of one cell, the only count is n
            _say(ax, _NOT_KNOWN)
    elif _says_nothing(*(end[:-1] for end in band)):
        _say(ax, _FROM_0_TO_1.format(covered))
    else:
        low, high = band
        ax.fill_between(
            x[at],
            low[at],
            high[at],
            step="post",
            color=steps.get_color(),
            alpha=shade(ax),
            linewidth=0,
            label=_once(ax, covered),
        )
    if x.dtype.kind == "M":
        dated(ax)
    else:
        thousands(ax, float(np.max(np.abs(x), initial=0.0)))
    named(ax, "value", "share of records at most this")
    ax.set_ylim(-0.02, 1.02)
    return _with_legend(ax, corner(x, y))


def plot_survival(
    x: Reals,
    curve: Reals,
    band: tuple[Reals, Reals] | None,
    at_risk: Callable[[float], str],
    name: str,
    *,
    linear: bool,
    ax: Axes | None,
    covered: str,
    style: dict[str, Any],
) -> Axes:
    """Draw a survival curve with a band around it, and numbers at risk: ``Survival.plot``.

    Parameters
    ----------
    x, curve
        (N + 1,) the places, from where durations begin, and survival there. NaN: not drawn.
    band
        The lower and the upper end, each (N + 1,), or None if it is not known.
    at_risk
        Returns the number at risk at a place as a text; "" where it is not known.
    name
        The text in the legend, unless the style has a label.
    linear
        Whether the curve is drawn straight between places. Otherwise it has steps.
    ax, covered, style
        Axes, or None for new ones; what the band covers; arguments of ``Axes.plot``.
    """
    ax = axes(ax, (6.4, 4.8))
    from matplotlib.ticker import AutoLocator

    steps = "default" if linear else "steps-post"
    (drawn,) = ax.plot(x, curve, drawstyle=steps, **_labelled(ax, name, style))
    colour = drawn.get_color()
    where: Any = None if linear else "post"
    look: dict[str, Any] = {"color": colour, "alpha": shade(ax), "linewidth": 0}
    if band is None:
        _say(ax, _NOT_KNOWN)
    else:
        ax.fill_between(x, *band, step=where, label=_once(ax, covered), **look)
    row = sum(text.get_gid() == _AT_RISK for text in ax.texts)
    before = ax.get_xlim() if row else (math.inf, -math.inf)
    first, last = min(before[0], float(x[0])), max(before[1], float(x[-1]))
    if (first, last) != before:  # the ticks of a curve before may be those of a part
        ax.set_xlim(first, last)
        ax.xaxis.set_major_locator(AutoLocator())
    ticks: Any = [place for place in ax.get_xticks() if first <= place <= last]
    ax.set_xticks(ticks)
    thousands(ax, last)
    numbers = [number for number in map(at_risk, ticks) if number] or [""]  # a row for each curve
    where_to: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
    if row == 0:
        start = (0.0, 0.0)
        title: Any = {"xycoords": "axes fraction", "ha": "right", "fontsize": "small"}
        beside = -3.0 * max([4, *map(len, numbers[:1])]) - 6.0  # left of the first number
        ax.annotate("at risk", start, (beside, -_BELOW), **title, **where_to)
    below = (0, -_BELOW - _ROW_AT_RISK * row)
    step = every(ax, len(ticks), numbers, _SMALL)
    for place, number in zip(ticks[::step], numbers[::step], strict=False):
        gid = _AT_RISK if place == ticks[0] else None  # one of each row
        at = (place, 0.0)
        style = {"xycoords": ax.get_xaxis_transform(), "ha": "center", "fontsize": "small"}
        ax.annotate(number, at, below, color=colour, gid=gid, **style, **where_to)
    named(ax, "duration", "share without the event")
    ax.set_ylim(-0.02, 1.02)
    return _with_legend(ax, "lower left" if corner(x, curve) == "lower right" else "upper right")


def plot_box(
    components: Sequence[float],
    outliers: Reals,
    name: str,
    *,
    ax: Axes | None,
    position: float,
    style: dict[str, Any],
) -> Axes:
    """Draw a box plot. See ``BoxPlot.plot``.

    Parameters
    ----------
    components
        Lower whisker, first quartile, median, third quartile, upper whisker.
    outliers
        (k,) values beyond the whiskers.
    name
        The text under the box, unless the style has a label.
    ax, position, style
        Axes, or None for new ones; the place on the horizontal axis; arguments of ``Axes.bxp``.
    """
    check_reach(np.append(outliers, components))
    shown = dict(zip(("whislo", "q1", "med", "q3", "whishi"), components, strict=True))
    box = {"label": style.pop("label", name), **shown, "fliers": outliers}
    ax = axes(ax)
    ax.bxp([box], positions=[position], **{"widths": 0.5, **style})
    if not ax.get_ylabel():  # a caller may have named the values
        ax.set_ylabel("value", wrap=True)
    return ax


def plot_rates(
    score: Reals,
    rate: Reals,
    spread: tuple[Reals, Reals],
    counts: Reals,
    edges: Reals,
    name: str,
    *,
    ax: Axes | None,
    level: float,
    band: tuple[Reals, Reals] | None,
    style: dict[str, Any],
) -> Axes:
    """Draw a reliability diagram above its counts. See ``Reliability.plot``.

    Parameters
    ----------
    score, rate
        (K,) mean score and share of positives of each bin.
    spread
        Standard deviations of the rate, each (K,): from noise alone, and from noise and sampling.
    counts, edges
        (K,) the numbers of records in bins, and (K + 1,) the edges of bins.
    name
        The text in the legend, unless the style has a label.
    ax, level, style
        Axes, or None for new ones; the level of the intervals; arguments of ``Axes.plot``.
    band
        The ends of a band for all bins at once, each (K,), or None for intervals of single bins.
    """
    width = deviations(level)
    ax = axes(ax, figsize=(5, 6))
    some = counts > 0.0  # NaN would leave gaps in the line
    with np.errstate(invalid="ignore"):  # infinities times 0
        # With the noise alone, the rate may be anything: such a bin may have no records.
        some &= ~(width * spread[0] >= np.maximum(rate, 1.0 - rate))
    at, height = score[some], rate[some]
    _diagonal(ax, "calibrated")
    shown = {"marker": "o", "markersize": 4, "linewidth": 1}
    (line,) = ax.plot(at, height, **{**shown, **_labelled(ax, name, style)})
    color = line.get_color()
    looks: list[tuple[float, float, str]] = []
    if band is None:
        looks = [(4.0, 0.35, "noise alone"), (1.0, 1.0, "noise and sampling")]
    else:
        at_once = _once(ax, covered(level, at_once=True))
        boxes = edges[:-1], band[1] - band[0], np.diff(edges), band[0]
        ax.bar(*boxes, align="edge", alpha=shade(ax), linewidth=0, color=color, label=at_once)
    for deviation, (thickness, opacity, of) in zip(spread, looks, strict=False):
        reach = width * deviation[some]
        low, high = np.maximum(height - reach, 0.0), np.minimum(height + reach, 1.0)
        bars = ax.vlines(at, low, high, [color], label=_once(ax, f"{in_percent(level)}, {of}"))
        bars.set(linewidth=thickness, alpha=opacity)
    if left_out := int(np.count_nonzero(~some)):
        bins = "1 bin" if left_out == 1 else f"{left_out} bins"
        _say(ax, f"{bins} left out: too few records")
    below = ax.inset_axes((0.0, -0.28, 1.0, 0.22), sharex=ax)
    look: dict[str, Any] = {"alpha": 0.5, "edgecolor": "white", "linewidth": 0.5}
    below.bar(edges[:-1], counts, np.diff(edges), align="edge", color=color, **look)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    named(ax, "", "share of positives")
    ax.tick_params(labelbottom=False)
    named(below, "score", "records")
    return _with_legend(ax, "upper left")


def plot_path(
    fpr: Reals,
    tpr: Reals,
    outline: tuple[tuple[Reals, Reals], tuple[Reals, Reals]] | None,
    name: str,
    *,
    ax: Axes | None,
    covered: str,
    style: dict[str, Any],
) -> Axes:
    """Draw a ROC curve, its band and the diagonal. See ``ROC.plot``.

    Parameters
    ----------
    fpr, tpr
        (N + 1,) the rates.
    outline
        The upper and the lower end of the band, each two arrays (N + 1,), or None for no band.
    name
        The text in the legend, unless the style has a label.
    ax, covered, style
        Axes, or None for new ones; what the band covers; arguments of ``Axes.plot``.
    """
    ax = axes(ax, figsize=(5, 5))
    at = _along(fpr, tpr)
    _diagonal(ax, "guessing")
    (drawn,) = ax.plot(fpr[at], tpr[at], **_labelled(ax, name, style))
    if outline is None:
        _say(ax, _NOT_KNOWN)
    elif _area(outline := _rising(*outline)) > _EVERYWHERE:
        _say(ax, _FROM_0_TO_1.format(covered))
    else:
        ends = [(x[on], y[on]) for x, y in outline for on in [_along(x, y)]]
        (above_x, above_y), (below_x, below_y) = ends
        ax.fill(
            np.append(above_x, below_x[::-1]),
            np.append(above_y, below_y[::-1]),
            color=drawn.get_color(),
            alpha=shade(ax),
            linewidth=0,
            label=_once(ax, covered),
        )
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    named(ax, "false positive rate", "true positive rate")
    return _with_legend(ax, "lower right")


def plot_precision(
    recall: Reals,
    precision: Reals,
    band: tuple[Reals, Reals, Reals, Reals] | None,
    guessing: float,
    name: str,
    *,
    ax: Axes | None,
    covered: str,
    style: dict[str, Any],
) -> Axes:
    """Draw precision against recall. See ``ROC.plot_precision_recall``.

    Parameters
    ----------
    recall, precision
        (N + 1,) the points, by rising recall.
    band
        The ends of both, as ``PrecisionRecallBand`` has them, or None for no band.
    guessing
        The precision of guessing: the share of positives.
    name
        The text in the legend, unless the style has a label.
    ax, covered, style
        Axes, or None for new ones; what the band covers; arguments of ``Axes.step``.
    """
    ax = axes(ax, figsize=(5, 5))
    at = _along(recall, precision)
    if "guessing" not in _taken(ax):
        ax.axhline(guessing, color="0.6", linewidth=1, linestyle="--", label="guessing")
    look = {"where": "pre", **_labelled(ax, name, style)}
    (drawn,) = ax.step(recall[at], precision[at], **look)
    if band is None:
        _say(ax, _NOT_KNOWN)
    else:
        places = np.linspace(0.0, 1.0, _IN_BAND)
        low, high = _over_noisy_places(places, *band)
        look = {"color": drawn.get_color(), "alpha": shade(ax), "linewidth": 0}
        ax.fill_between(places, low, high, label=_once(ax, covered), **look)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    named(ax, "recall", "precision")
    middle = min(int(np.searchsorted(recall, 0.5)), recall.size - 1)
    return _with_legend(ax, "lower left" if precision[middle] > 0.5 else "upper right")


def _over_noisy_places(
    places: Reals, low: Reals, high: Reals, left: Reals, right: Reals
) -> tuple[Reals, Reals]:
    """Return the least and the greatest end, at each place, of the boxes that may hold it.

    Boxes are (N,) intervals from low to high, over places from left to right, in their order. Where
    there is none, the neighbours count.
    """
    first = np.searchsorted(np.maximum.accumulate(right), places)
    last = np.searchsorted(np.minimum.accumulate(left[::-1])[::-1], places, side="right") - 1
    starts = np.clip(np.minimum(first, last), 0, low.size - 1)
    stops = np.clip(np.maximum(first, last), 0, low.size - 1) + 1
    runs = [slice(*ends) for ends in zip(starts.tolist(), stops.tolist(), strict=True)]
    return np.array([low[run].min() for run in runs]), np.array([high[run].max() for run in runs])


def plot_bars(
    observed: Reals,
    expected: Reals,
    deviation: Reals,
    edges: Reals,
    name: str,
    *,
    ax: Axes | None,
    style: dict[str, Any],
) -> Axes:
    """Draw the observed and the expected positives of each group. See ``HosmerLemeshow.plot``.

    Parameters
    ----------
    observed
        (G, 2) negatives and positives. Bars show the positives. A line shows all records, since
        groups need not have one size, unless it is so high that bars would be flat; then numbers
        below the groups do.
    expected, deviation
        (G,) expected positives, and standard deviations of the noise in the observed positives.
    edges
        (G + 1,) the edges of the groups.
    name
        The text in the legend for the bars, unless the style has a label.
    ax, style
        Axes, or None for new ones; arguments of ``Axes.bar``.
    """
    ax = axes(ax, figsize=(7, 4))
    positives, sizes = observed[:, 1], observed.sum(axis=1)
    places = np.arange(positives.size)
    highest = max(float(positives.max()), float(expected.max()), 1.0)
    is_low = bool(sizes.max() <= _HIGHEST * highest)
    if is_low:
        said = _once(ax, "all records of the group")
        ax.hlines(sizes, places - 0.35, places + 0.35, color="0.45", label=said)
        highest = float(sizes.max())
    bars = {"width": 0.7, "color": colours.SKY, **_labelled(ax, f"positives, {name}", style)}
    ax.bar(places, positives, **bars)
    # Otherwise: no noise, or an unknown deviation.
    if deviation.any() and np.all(np.isfinite(deviation)):
        reach = deviations(0.95) * deviation
        said = _once(ax, "95% interval for the noise")
        least, ink = np.maximum(positives - reach, 0.0), ax.xaxis.label.get_color()
        ax.vlines(places, least, positives + reach, color=ink, label=said)
        highest = max(highest, float((positives + reach).max()))
    shown: dict[str, Any] = {"linestyle": "", "marker": "D", "color": colours.VERMILION}
    ax.plot(places, expected, label=_once(ax, "positives, expected"), markersize=5, **shown)
    told = [f"{low:.2g}\n{high:.2g}" for low, high in pairwise(edges)]
    if not is_low:
        told = [f"{text}\n{size:,.0f}" for text, size in zip(told, sizes, strict=True)]
    small = places.size > _WIDE
    step = every(ax, places.size + 1, told, _LEAST if small else _USUAL)
    ax.set_xticks(places[::step], told[::step], fontsize="x-small" if small else None)
    below = "" if is_low else "; all records"
    named(ax, f"predicted probability, from and to{below}", "records in the group")
    before = ax.get_ylim()[1] if len(ax.containers) > 1 else 0.0
    ax.set_ylim(0.0, max(before, 1.5 * highest))  # the legend is above the bars
    return _with_legend(ax, "upper left")


def shortly(privacy: Privacy) -> str:
    """Return the text of a release in a legend: that it is private, and its cost."""
    if privacy.epsilon == math.inf:
        return "not private"
    cost, _, _ = str(privacy).partition(" (")
    return f"{'SIMULATED' if privacy.simulated else 'private'}, {cost}"


def axes(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    """Return the axes, or new axes, whose lines differ in colour and in style."""
    if ax is not None:
        kind: type = _check.extra("matplotlib.axes", "plotting", "plot").Axes
        _check.instance("ax", ax, kind, "must be one Axes of Matplotlib, or None")
        if ax.name == "3d" or hasattr(ax, "transProjection"):  # such as polar ones and maps
            raise ParameterError("ax", ax.name, "must have two straight axes")
        return ax
    new: Axes = subplots(figsize=figsize)[1]
    tell_apart(new)
    return new


def corner(x: Reals, y: Reals) -> Corner:
    """Return the corner that a curve that rises from 0 to 1 leaves free, by its height halfway."""
    middle = int(np.searchsorted(x, x[0] + (x[-1] - x[0]) / 2))
    return "upper left" if y[middle] < 0.5 else "lower right"


def one_legend(ax: Axes, privacy: Privacy, place: Corner = "lower right") -> Axes:
    """Return axes with a legend of groups, and the cost of all together above it."""
    for text in legend(ax, place, title=shortly(privacy)).get_texts():
        text.set_parse_math(False)  # a dollar sign in a name is no mathematics
    return ax


def _taken(ax: Axes) -> list[str]:
    return ax.get_legend_handles_labels()[1]


def _labelled(ax: Axes, name: str, style: dict[str, Any]) -> dict[str, Any]:
    """Return the style with a label that no other line of the axes has."""
    taken, label = _taken(ax), name
    count = 1
    while label in taken:
        count += 1
        label = f"{name} ({count})"
    return {"label": label, **style}


def _once(ax: Axes, label: str) -> str:
    """Return the label for the legend, hidden if the legend has it already."""
    return f"_{label}" if label in _taken(ax) else label


def _say(ax: Axes, text: str) -> None:
    """Add a line of text to the legend, once."""
    if text not in _taken(ax):
        ax.plot([], [], linestyle="", label=text)


def _says_nothing(low: Reals, high: Reals) -> bool:
    """Return whether all intervals for shares are from 0 to 1; some ends may be public."""
    return bool(low.size and np.all(low <= 0.0) and np.all(high >= 1.0))


def _from_zero(x: Reals, y: Reals) -> tuple[Reals, Reals]:
    """Return steps that rise from 0 where they begin, or many equal values there are not seen."""
    known = np.flatnonzero(~np.isnan(y))
    if not known.size or not y[known[0]] > 0.0:
        return x, y
    return np.insert(x, known[0], x[known[0]]), np.insert(y, known[0], 0.0)


def _rising(
    above: tuple[Reals, Reals], below: tuple[Reals, Reals]
) -> tuple[tuple[Reals, Reals], tuple[Reals, Reals]]:
    """Return the outline of the union of boxes, whose paths rise, from the corners of the boxes.

    It is nowhere narrower. A path of corners alone would fall where noise makes the corners fall.
    """
    (left, top), (right, bottom) = above, below
    return (
        (np.minimum.accumulate(left[::-1])[::-1], np.maximum.accumulate(top)),
        (np.maximum.accumulate(right), np.minimum.accumulate(bottom[::-1])[::-1]),
    )


def _area(outline: tuple[tuple[Reals, Reals], tuple[Reals, Reals]]) -> float:
    """Return the area between the upper and the lower path of a band."""
    above, below = (float(np.trapezoid(y, x)) for x, y in outline)
    return above - below


def _diagonal(ax: Axes, label: str) -> None:
    if label not in _taken(ax):
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label=label)


def _with_legend(ax: Axes, place: Corner) -> Axes:
    """Return the axes with a legend of everything on them."""
    if _taken(ax):  # a caller may have removed the labels
        legend(ax, place, edgecolor="none")
    return ax


def _along(x: Reals, y: Reals) -> NDArray[np.int64]:
    """Return the points of a path to draw. Of too many, take points evenly along the path."""
    if x.size <= _DRAWN:
        return np.arange(x.size)
    steps = np.abs(np.diff(x)) + np.abs(np.diff(y))
    path = np.append(0.0, np.cumsum(steps))
    return np.unique(np.searchsorted(path, np.linspace(0.0, path[-1], _DRAWN)))


def plot_table(
    counts: Reals,
    x_edges: Reals,
    y_edges: Reals,
    title: str,
    names: tuple[str, str],
    *,
    ax: Axes | None,
    style: dict[str, Any],
) -> Axes:
    """Draw the counts of cells as colours. See ``Table.plot``.

    Parameters
    ----------
    counts
        (N_x, N_y) the counts.
    x_edges, y_edges
        (N_x + 1,), (N_y + 1,) the edges of cells.
    title
        The text above the axes.
    names
        The names of the columns x and y.
    ax, style
        Axes, or None for new ones; arguments of ``Axes.pcolormesh``.
    """
    ax = axes(ax)
    scale = {} if "norm" in style else {"vmin": 0.0}
    mesh = ax.pcolormesh(x_edges, y_edges, counts.T, **{"cmap": "Blues", **scale, **style})
    assert ax.figure is not None
    ax.figure.colorbar(mesh, ax=ax, label="records in the cell")
    ax.set_title(title)
    ax.set_xlabel(drawable(names[0]), parse_math=False, wrap=True)
    ax.set_ylabel(drawable(names[1]), parse_math=False, wrap=True)
    return ax


def plot_residuals(
    points: Reals | None,
    predicted_range: tuple[float, float],
    residual_range: tuple[float, float],
    title: str,
    *,
    ax: Axes | None,
    style: dict[str, Any],
) -> Axes:
    """Draw points, and the line where residuals are 0. See ``ResidualPlot.plot``.

    Parameters
    ----------
    points
        (k, 2) the points, or None if the axes show something else.
    predicted_range, residual_range
        The ends of both axes.
    title
        The text above the axes.
    ax, style
        Axes, or None for new ones; arguments of ``Axes.scatter``.
    """
    ax = axes(ax)
    ax.axhline(0.0, color="0.5", linewidth=1, linestyle="--")
    if points is not None:
        size = min(12.0, 30_000.0 / max(len(points), 1))
        shown = {"s": max(size, 0.5), "alpha": 0.5, **style}
        if not style.keys() & _WITH_LINES:
            shown["linewidths"] = 0
        ax.scatter(points[:, 0], points[:, 1], **shown)
    ax.set_xlim(*predicted_range)
    ax.set_ylim(*residual_range)
    ax.set_title(title)
    named(ax, "predicted value", "residual")
    return ax
