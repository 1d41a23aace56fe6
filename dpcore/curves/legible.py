"""What keeps pictures legible on any axes: small or large, light or dark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .. import _check
from . import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "dated",
    "every",
    "in_two_lines",
    "is_dark",
    "legend",
    "named",
    "shade",
    "tell_apart",
    "thousands",
]

_NARROW: Final = 3.0  # inches of axes, below which a legend is in small print
_DIGIT: Final = 0.64  # the width of a digit, in heights of the font
_LETTER: Final = 0.55  # and of other letters, on average
_FONT: Final = 10.0  # the usual height of a font, in points
_LEFT: Final = 0.8  # of the height of axes, once there are names and ticks
_GAP: Final = 5.0  # points between texts beside each other
_LONG: Final = 40  # characters of a legend that fit on axes of usual size
_ENGINEERS: Final = 1e4, 1e6  # between them, numbers are long and Matplotlib writes all digits


def is_dark(ax: Axes) -> bool:
    """Return whether the ground is dark: whether names on it are bright."""
    of: Any = _check.extra("matplotlib.colors", "plotting", "plot")
    return bool(sum(of.to_rgb(ax.xaxis.label.get_color())) > 1.5)


def shade(ax: Axes) -> float:
    """Return how opaque bands are: a dark ground swallows more of their colour."""
    return 0.4 if is_dark(ax) else 0.2


def tell_apart(ax: Axes) -> None:
    """Let the next lines on the axes differ from each other, and from the ground."""
    seen = [
        colours.WHITE if is_dark(ax) and one == colours.BLACK else one for one in colours.TELLING
    ]
    ax.set_prop_cycle(color=seen, linestyle=colours.LINES["linestyle"])


def named(ax: Axes, x: str, y: str) -> None:
    """Name both axes; long names go on in another line where there is no room."""
    ax.set_xlabel(x, wrap=True)
    assert ax.figure is not None
    if len(y) * _LETTER * _FONT > _LEFT * ax.bbox.height / ax.figure.dpi * 72.0:
        spaces = [at for at, letter in enumerate(y) if letter == " "]
        if spaces:
            middle = min(spaces, key=lambda at: abs(at - len(y) // 2))
            y = f"{y[:middle]}\n{y[middle + 1 :]}"
    ax.set_ylabel(y)


def thousands(ax: Axes, largest: float) -> None:
    """Write long numbers below the axes as 50k and 100k, or they run into each other."""
    of: Any = _check.extra("matplotlib.ticker", "plotting", "plot")
    least, most = _ENGINEERS
    is_default = isinstance(ax.xaxis.get_major_formatter(), of.ScalarFormatter)
    if is_default and least <= largest < most:
        ax.xaxis.set_major_formatter(of.EngFormatter(sep=""))


def every(ax: Axes, places: float, texts: list[str], height: float) -> int:
    """Return k, so that each k-th of the texts beside each other has room.

    Parameters
    ----------
    ax
        The axes.
    places
        How many texts would fill them.
    texts
        The texts, of one line or more.
    height
        The height of their font, in points.
    """
    longest = max((len(part) for text in texts for part in text.split("\n")), default=0)
    assert ax.figure is not None
    wide = ax.bbox.width / ax.figure.dpi * 72.0
    return max(1, -int(-(longest * _DIGIT * height + _GAP) * places // wide))


def in_two_lines(name: str, more: str) -> str:
    """Return a text for a legend, in two lines if it is long."""
    together = f"{name}, {more}"
    return together if len(together) <= _LONG else f"{name},\n{more}"


def legend(ax: Axes, place: Any, **how: Any) -> Any:
    """Add a legend, in small print on small axes, which does not push the axes aside."""
    assert ax.figure is not None
    if ax.bbox.width / ax.figure.dpi < _NARROW:
        size = "xx-small" if ax.get_aspect() == 1.0 else "x-small"
        small = {"fontsize": size, "title_fontsize": size, "borderaxespad": 0.2, "borderpad": 0.2}
        how = {**small, "handlelength": 1.2, "labelspacing": 0.2, **how}
    found = ax.legend(loc=place, framealpha=0.9, **how)
    found.set_in_layout(False)
    return found


def dated(ax: Axes) -> None:
    """Write dates below the axes, short and as many as have room."""
    dates: Any = _check.extra("matplotlib.dates", "plotting", "plot")
    assert ax.figure is not None
    if ax.bbox.width / ax.figure.dpi < _NARROW:
        ax.xaxis.set_major_locator(dates.AutoDateLocator(minticks=3, maxticks=5))
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(ax.xaxis.get_major_locator()))
