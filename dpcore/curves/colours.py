"""Colours for the pictures of the library and its scripts, which colour-blind readers can tell.

They are those of Okabe and Ito (2008), *Color Universal Design*. Where several lines share axes,
each has its own colour and its own style.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = [
    "BLACK",
    "BLUE",
    "GREEN",
    "GREY",
    "LIGHT",
    "LINES",
    "ORANGE",
    "PURPLE",
    "SKY",
    "TELLING",
    "VERMILION",
    "WHITE",
]

BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
GREEN: Final = "#009E73"
PURPLE: Final = "#CC79A7"
ORANGE: Final = "#E69F00"
SKY: Final = "#56B4E9"
BLACK: Final = "#000000"
WHITE: Final = "#FFFFFF"  # in place of black on a dark ground
TELLING: Final = (
    BLUE,
    VERMILION,
    GREEN,
    PURPLE,
    ORANGE,
    SKY,
    BLACK,
)  # the colours of lines, in this order

# This grey differs clearly from all of these. To some readers most greys look like the green or
# the purple.
GREY: Final = "#484848"
LIGHT: Final = "#c8c8c8"  # for things in the background

LINES: Final[dict[str, tuple[Any, ...]]] = {
    "color": TELLING,
    "linestyle": ("-", "--", "-.", ":", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3))),
}
