"""Options of several commands: what no function takes, or says for Python only."""

from __future__ import annotations

from pathlib import Path
from typing import Final, get_args

from ..curves.smoothing import Norm
from ..records.sources import Format
from .options import Option, option

__all__ = ["BOUNDS", "BUDGET", "FILE", "FILES", "ONE_BUDGET", "PICTURES", "QUIET", "SMOOTH", "size"]

PICTURES: Final = (".png", ".pdf", ".svg")
QUIET: Final[Option] = option("no progress bar", action="store_true")
FILE: Final[Option] = option(
    "a CSV or Parquet file, a folder of Parquet files, or - for CSV on standard input",
    "FILE",
    flag="file",
)
BOUNDS: Final[dict[str, Option]] = {
    "lower": option("least value, known beforehand", "A", float, required=True),
    "upper": option(
        "greatest value, known beforehand. Values out of bounds count in the nearest cell",
        "B",
        float,
        required=True,
    ),
}
# Without a mechanism's parameters, which --mechanism takes by name.
BUDGET: Final[dict[str, Option | None]] = {
    "epsilon": option("epsilon to spend, or"),
    "rho": option("zero-concentrated privacy to spend"),
    "delta": option("delta to spend, together with --epsilon"),
    "neighbours": None,  # the commands take n for public: it chooses cells and mechanisms
    "mechanism": option(
        "the mechanism: best, the name of one, or module:Class of your own "
        "(best: the most accurate one)",
        "M",
        default="best",
    ),
    "base": option("children of each node of a dyadic tree (2)", "K", int),
}
ONE_BUDGET: Final[dict[tuple[str, ...], bool]] = {("epsilon", "rho"): True}
SMOOTH: Final[Option] = option(
    "smooth a dyadic curve, in the 1-norm or the 2-norm", type=int, choices=get_args(Norm)
)
FILES: Final[dict[str, Option]] = {
    "format": option("format of FILE (by its suffix)", choices=get_args(Format)),
    "delimiter": option(
        r"character between the cells of a CSV file (,); \t is a tab",
        "D",
        type=lambda text: "\t" if text == r"\t" else text,
        default=",",
    ),
    "plot": option(f"draw the release to a {'/'.join(PICTURES)} file", "OUT", Path),
    "json": option("store the release as JSON", "OUT", Path),
    "budget": option("charge the release to this budget: see dpcore budget", "FILE"),
    "quiet": QUIET,
}


def size(what: str, default: int | None = None) -> Option:
    """Return the option ``--size``."""
    return option(f"number of cells {what}", "N", int, default=default)
