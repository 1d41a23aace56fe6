"""Options of several commands: what no function takes, or says for Python only."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Final, get_args

import dpcore

from ..curves.smoothing import Norm
from ..records.sources import Format
from .options import Option, option

__all__ = [
    "BOUNDS",
    "BUDGET",
    "FILE",
    "FILES",
    "LEVEL",
    "ONE_BUDGET",
    "PICTURES",
    "QUIET",
    "SMOOTH",
    "VARIANTS",
    "mechanism_names",
    "mechanism_option",
    "size",
    "takes_a_budget",
]


def mechanism_names() -> list[str]:
    """Return the names of mechanisms of ``dpcore.mechanisms``, which need no module."""
    from ..mechanisms.base import names, registered  # the options themselves do not need them

    known = {name: registered(name) for name in names()}
    home = f"{dpcore.mechanisms.__name__}."
    return [
        name
        for name, one in known.items()
        if takes_a_budget(one) and one is not None and one.__module__.startswith(home)
    ]


def takes_a_budget(chosen: Any) -> bool:
    """Return whether this is a class of mechanisms that take an epsilon."""
    is_one = isinstance(chosen, type) and issubclass(chosen, dpcore.mechanisms.Mechanism)
    return is_one and "epsilon" in inspect.signature(chosen).parameters


def mechanism_option(*variants: str) -> Option:
    """Return the option for a mechanism, by its name or that of a variant, or of one's own."""

    def text() -> str:
        known = ", ".join([*mechanism_names(), *variants])
        return (
            f"the mechanism: best, {known}, or module:Class of your own (best: the most accurate)"
        )

    return option(text, "M", default="best")


VARIANTS: Final = ("dyadic-paper",)  # beside the names of mechanisms
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
    "mechanism": mechanism_option(*VARIANTS),
    "base": option("children of each node of a dyadic tree (2)", "K", int),
}
LEVEL: Final[Option] = option(
    "confidence level of the intervals, between 0 and 1 (0.95)", "X", float, default=0.95
)
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
    "budget_label": option("write this beside the charge in the budget", "TEXT"),
    "quiet": QUIET,
}


def size(what: str, default: int | None = None) -> Option:
    """Return the option ``--size``."""
    return option(f"number of cells {what}", "N", int, default=default)
