"""The options of each command, and their help texts."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..records.times import scalar
from .study_options import add_study

__all__ = ["PICTURES", "add_commands"]

PICTURES: Final = (".png", ".pdf", ".svg")
_FILE: Final = "a CSV or Parquet file, a folder of Parquet files, or - for CSV on standard input"
_NAMES: Final = "the mechanism: best, the name of one, or module:Class of your own"
_SMOOTH: Final[dict[str, Any]] = {
    "type": int,
    "choices": (1, 2),
    "help": "smooth a dyadic curve, in the 1-norm or the 2-norm",
}

_Command = Callable[..., argparse.ArgumentParser]  # makes one from a name, help and description


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Add all commands, with their options."""
    command = partial(commands.add_parser, allow_abbrev=False)
    _add_cdf(command)
    _add_roc(command)
    _add_calibration(command)
    _add_hosmer_lemeshow(command)
    _add_residuals(command)
    _add_budget_command(command)
    add_study(command)
    _add_warm(command)


def _add_cdf(command: _Command) -> None:
    cdf = command(
        "cdf",
        help="release the distribution of a column",
        description="Release the distribution of a column of a CSV or Parquet file of any size, "
        "with differential privacy. Every run spends epsilon again. The bounds are public: choose "
        "them from knowledge about the column, never from its values.",
    )
    cdf.add_argument("file", metavar="FILE", help=_FILE)
    cdf.add_argument(
        "--column",
        metavar="C",
        required=True,
        help="name of the column. It holds numbers, or dates or times if the bounds are such",
    )
    _add_bounds(cdf, date_or_float)
    _add_size(cdf, "number of cells between the bounds (by the number of records and the budget)")
    _add_budget(cdf)
    after = cdf.add_mutually_exclusive_group()
    after.add_argument("--smooth", **_SMOOTH)
    after.add_argument("--raw", action="store_true", help="do not make the curve monotone")
    cdf.add_argument(
        "--integers",
        action=argparse.BooleanOptionalAction,
        help="the column holds whole numbers or days, so its quantiles are whole numbers or days, "
        "and without --size each of them between the bounds has its own cell (quantiles: yes if a "
        "Parquet file has integers or dates)",
    )
    _add_files(cdf)


def _add_roc(command: _Command) -> None:
    roc = _add_scored(command, "roc", "the ROC curve of scored labels", "the ROC curve")
    _add_bounds(roc)
    _add_size(roc, "number of cells between the bounds (by the number of records and the budget)")
    _add_budget(roc)
    roc.add_argument("--smooth", **_SMOOTH)
    _add_files(roc)


def _add_calibration(command: _Command) -> None:
    calibration = _add_scored(
        command,
        "calibration",
        "how far scores are from probabilities",
        "how far the scores are from the shares of positives. Scores below 0 count as 0, and "
        "scores above 1 as 1",
    )
    _add_size(calibration, "number of cells of [0, 1] (1000)", default=1000)
    add = calibration.add_argument
    add("--bins", metavar="B", type=int, default=10, help="bins of equal width in the table (10)")
    add("--equi-depth", action="store_true", help="bins with about the same number of records each")
    _add_budget(calibration)
    add("--smooth", **_SMOOTH)
    _add_files(calibration)


def _add_hosmer_lemeshow(command: _Command) -> None:
    test = _add_scored(
        command,
        "hosmer-lemeshow",
        "the Hosmer-Lemeshow test of predicted probabilities",
        "the Hosmer-Lemeshow test, with a p-value that takes the noise into account. Scores are "
        "predicted probabilities. Their model must not depend on the records, or must have been "
        "released itself",
    )
    what = "number of cells of [0, 1], of a width like sqrt(p (1 - p))"
    _add_size(test, f"{what} (by the number of records and the budget)")
    test.add_argument("--groups", metavar="Q", type=int, default=10, help="number of groups (10)")
    test.add_argument(
        "--not-fitted",
        action="store_true",
        help="the model was fitted to other records: the test has Q degrees of freedom, not Q - 2",
    )
    _add_budget(test)
    test.set_defaults(smooth=None)
    _add_files(test)


def _add_residuals(command: _Command) -> None:
    residuals = command(
        "residuals",
        help="release residuals against predicted values",
        description="Release a residual plot of a regression with differential privacy, from two "
        "columns of a CSV or Parquet file, and show quartiles of the residuals for ranges of "
        "predicted values. Every run spends epsilon again. The model must not depend on the "
        "records, or must have been released itself. The command keeps both columns in memory, "
        "because it finds bounds before it counts records. This takes 16 bytes for each record, "
        "and for a moment about twice that.",
    )
    add = residuals.add_argument
    add("file", metavar="FILE", help=_FILE)
    add("--predicted", metavar="P", required=True, help="name of the column of predicted values")
    other = residuals.add_mutually_exclusive_group(required=True)
    other.add_argument("--residual", metavar="R", help="name of the column of residuals, or")
    other.add_argument(
        "--actual",
        metavar="Y",
        help="name of the column of observed values: residuals are observed minus predicted values",
    )
    add("--epsilon", metavar="E", type=float, required=True, help="epsilon to spend")
    add(
        "--unit",
        metavar="U",
        type=float,
        action="append",
        help="a unit of both columns, known beforehand (1). Bounds are the unit times a power of "
        "two. Give it twice if residuals have another unit",
    )
    for name in ("predicted", "residual"):
        add(
            f"--{name}-range",
            metavar=("A", "B"),
            nargs=2,
            type=float,
            help=f"bounds of --{name}, known beforehand (found with a part of epsilon)",
        )
    add(
        "--search",
        choices=("compact", "sparse-vector"),
        default="compact",
        help="how bounds are found: widths that trade records for precision (compact), or bounds "
        "of 95%% of the records (sparse-vector)",
    )
    add(
        "--cells",
        metavar="M",
        type=int,
        action="append",
        help="number of cells along both axes; give it twice for one number for each axis (by the "
        "number of records)",
    )
    add(
        "--mechanism",
        metavar="M",
        default="best",
        help=f"{_NAMES} (best: chosen by n, epsilon and cells)",
    )
    _add_files(residuals)


def _add_budget_command(command: _Command) -> None:
    budget = command(
        "budget",
        help="make a budget in a file, or show what was spent",
        description="Show the cap of a budget, the privacy that was spent and remains, and the "
        "log. With a cap, make the file if it does not exist. Other commands charge their release "
        "to the budget with --budget FILE, and are refused beyond the cap.",
    )
    budget.add_argument("file", metavar="FILE", help="an SQLite file")
    budget.add_argument("--epsilon", metavar="E", type=float, help="the cap of a new budget, or")
    budget.add_argument(
        "--rho", metavar="R", type=float, help="the cap in zero-concentrated privacy"
    )
    budget.add_argument(
        "--delta", metavar="D", type=float, help="the cap on delta, with either (0)"
    )


def _add_warm(command: _Command) -> None:
    warm = command(
        "warm",
        help="compile everything now, so that first uses do not wait",
        description="Compile everything now, for container images and tests. The machine code is "
        "kept on disk, in NUMBA_CACHE_DIR or the user's cache folder. It is for this processor and "
        "these versions of Python, NumPy and Numba.",
    )
    warm.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_scored(command: _Command, name: str, what: str, shown: str) -> argparse.ArgumentParser:
    """Add a command that reads labels and scores."""
    parser = command(
        name,
        help=f"release {what}",
        description="Release the distributions of the scores of positives and of negatives, with "
        "differential privacy, from two columns of a CSV or Parquet file of any size, and show "
        f"{shown}. Every run spends epsilon again.",
    )
    add = parser.add_argument
    add("file", metavar="FILE", help=_FILE)
    add("--label", metavar="C", required=True, help="name of the column of labels")
    add(
        "--positive",
        metavar="L",
        help="the label of the positives (1 or true, if labels are numbers or booleans; required "
        "if they are text). All other labels are negative. It is allowed that no record has this "
        "label",
    )
    add("--score", metavar="C", required=True, help="name of the column of scores")
    return parser


def _add_bounds(
    parser: argparse.ArgumentParser, kind: Callable[[str], float | str] = float
) -> None:
    add = parser.add_argument
    add(
        "--lower",
        metavar="A",
        required=True,
        type=kind,
        help="least value, known beforehand",
    )
    add(
        "--upper",
        metavar="B",
        required=True,
        type=kind,
        help="greatest value, known beforehand. Values out of bounds count in the nearest cell",
    )


def _add_size(parser: argparse.ArgumentParser, what: str, default: int | None = None) -> None:
    parser.add_argument("--size", metavar="N", default=default, type=int, help=what)


def _add_budget(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--epsilon", metavar="E", type=float, help="epsilon to spend, or")
    budget.add_argument("--rho", metavar="R", type=float, help="zero-concentrated privacy to spend")
    add("--delta", metavar="D", type=float, help="delta to spend, together with --epsilon")
    add(
        "--mechanism",
        metavar="M",
        default="best",
        help=f"{_NAMES} (best: the most accurate one)",
    )
    add("--base", metavar="K", type=int, help="children of each node of a dyadic tree (2)")


def _add_files(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--nan-policy",
        choices=("raise", "omit"),
        default="raise",
        help="refuse missing values, or leave them out (raise)",
    )
    add("--format", choices=("csv", "parquet"), help="format of FILE (by its suffix)")
    add(
        "--delimiter",
        metavar="D",
        type=_delimiter,
        default=",",
        help=r"character between the cells of a CSV file (,); \t is a tab",
    )
    add("--plot", metavar="OUT", type=Path, help=f"draw the release to a {'/'.join(PICTURES)} file")
    add("--json", metavar="OUT", type=Path, help="store the release as JSON")
    add("--budget", metavar="FILE", help="charge the release to this budget: see dpcore budget")
    add("--quiet", action="store_true", help="no progress bar")


def date_or_float(text: str) -> float | str:
    """Return a number; return a date or time in ISO 8601 unchanged."""
    if scalar("bound", text, exactly=False) is not None:
        return text
    try:
        return float(text)
    except ValueError:
        what = "a number, or a date or a time in ISO 8601, such as 2024-01-31"
        raise argparse.ArgumentTypeError(f"must be {what}; got {text!r}") from None


def _delimiter(text: str) -> str:
    return "\t" if text == r"\t" else text
