"""The representations of releases: a line of text, and a small picture in notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..privacy.guarantees import Privacy
from ..summaries.grid import Grid

__all__ = ["axis", "cost", "line", "picture", "printable", "several", "short"]

LINE: Final = 88
_SPANS: Final = {"d": 86_400, "h": 3600, "min": 60}  # in seconds
_WIDTH, _HEIGHT = 320, 120  # the size of a picture, in pixels
_MOST: Final = 200  # the number of points in a picture
_LEAST_TICKS: Final = 3  # the least number of ticks, so that an axis of a day is in hours


def cost(privacy: Privacy | None) -> str:
    """Return the cost of a release in a few words, with a loud word if it is simulated."""
    if privacy is None:
        return "not private"
    parameters, _, _ = str(privacy).partition(" (")
    return f"{parameters}, SIMULATED" if privacy.simulated else parameters


def short(value: Any, digits: int = 4) -> str:
    """Return a number or a duration with this many digits, or a time to the second."""
    if isinstance(value, np.datetime64):
        text = str(value.astype("M8[s]"))
        return text.removesuffix("T00:00:00")
    if isinstance(value, np.timedelta64):
        seconds = float(value / np.timedelta64(1, "s"))
        name, size = next((span for span in _SPANS.items() if abs(seconds) >= span[1]), ("s", 1))
        return f"{seconds / size:.{digits}g} {name}"
    return f"{value:.{digits}g}"


def axis(grid: Grid, positions: NDArray[np.float64]) -> tuple[NDArray[Any], str]:
    """Return places on a grid as Matplotlib draws them, and the unit, or "" if there is none."""
    if grid.unit != "duration":  # Matplotlib does not know durations
        return grid.shown(positions), "UTC" if grid.unit == "instant" else ""
    seconds = positions / 1e6
    largest = float(np.abs(seconds).max())
    names = {"d": "days", "h": "hours", "min": "minutes"}
    fits = (span for span in _SPANS.items() if largest >= _LEAST_TICKS * span[1])
    name, size = next(fits, ("s", 1))
    return seconds / size, names.get(name, "seconds")


def several(values: Iterable[Any]) -> str:
    """Return values as a short text."""
    return ", ".join(map(short, values))


def printable(text: str) -> str:
    """Return a text that can be written out: with escapes for halves of pairs of surrogates."""
    return text.encode(errors="backslashreplace").decode()


def line(kind: str, *forms: str) -> str:
    """Return the first of these forms that fits on a line, or the last form."""
    texts = [printable(f"<{kind}: {form}>") for form in forms]
    return next((text for text in texts if len(text) <= LINE), texts[-1])


def picture(
    text: str,
    positions: NDArray[np.float64],
    shares: NDArray[np.float64],
    band: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    ends: tuple[str, str],
) -> str:
    """Return HTML with a curve as an SVG, in the colour of the text around it.

    Parameters
    ----------
    text
        The text below the picture.
    positions
        (N,) the thresholds.
    shares
        (N,) the curve.
    band
        The ends of intervals, each (N,), or None.
    ends
        The labels at both ends of the axis.
    """
    at = np.unique(np.linspace(0, positions.size - 1, _MOST).round().astype(int))
    first, last = float(positions[0]), float(positions[-1])
    # Halves do not overflow, and the least numbers have none.
    half = 1.0 if math.isfinite(last - first) else 0.5
    width = last * half - first * half
    x = (positions[at] * half - first * half) / width * _WIDTH if width > 0.0 else np.zeros(at.size)

    def points(values: NDArray[np.float64]) -> list[str]:
        y = _HEIGHT * (1.0 - np.clip(values[at], 0.0, 1.0))
        return [f"{left:.1f},{top:.1f}" for left, top in zip(x, y, strict=True)]

    path = points(shares)
    if shares[0] > 0.0:  # or many equal values at the first threshold are not seen
        path.insert(0, f"{x[0]:.1f},{_HEIGHT:.1f}")
    shapes = [f'<polyline points="{" ".join(path)}" fill="none" stroke="currentColor"/>']
    if band is not None:
        around = " ".join(points(band[0]) + points(band[1])[::-1])
        shapes.insert(0, f'<polygon points="{around}" fill="currentColor" fill-opacity="0.2"/>')
    axis = f'<path d="M0,0V{_HEIGHT}H{_WIDTH}" fill="none" stroke="currentColor" opacity="0.5"/>'
    labels = "".join(
        f'<text x="{left}" y="{_HEIGHT + 14}" text-anchor="{anchor}" font-size="11"'
        f' fill="currentColor">{escape(end)}</text>'
        for left, anchor, end in ((0, "start", ends[0]), (_WIDTH, "end", ends[1]))
    )
    return (
        f'<div><svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 8}" height="{_HEIGHT + 22}"'
        f' viewBox="-4 -4 {_WIDTH + 8} {_HEIGHT + 22}">{axis}{"".join(shapes)}{labels}</svg>'
        f"<div>{escape(text)}</div></div>"
    )
