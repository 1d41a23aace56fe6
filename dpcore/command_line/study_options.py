"""The options of ``dpcore study``, and their help texts."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["REPLICATES", "add_study"]

REPLICATES: Final = 100  # the default; with it, a mean is known to a tenth of a deviation


def add_study(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command, with its options."""
    study = command(
        "study",
        help="run a Monte Carlo study, or list them",
        description="Run a Monte Carlo study that comes with dpcore, or one in your own Python "
        "file, and show the means of its results with their intervals. For one seed, the numbers "
        "are the same, bit for bit, on any number of workers. Studies simulate: their results do "
        "not protect the records that they use.",
    )
    add = study.add_argument
    add(
        "study",
        metavar="STUDY",
        nargs="?",
        help="a name from --list; or FILE.py; or FILE.py:NAME, if the file has several studies",
    )
    add(
        "--list",
        action="store_true",
        help="list all studies, or describe STUDY, with their parameters; run nothing",
    )
    add(
        "--replicates",
        metavar="R",
        type=int,
        help=f"number of replicates of each combination of parameters ({REPLICATES}, or the next "
        "multiple of the study's batch)",
    )
    add(
        "--set",
        metavar="P=V,...",
        action="append",
        default=[],
        help="other values for a parameter: numbers, or labels that the study knows; repeat it for "
        "other parameters",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="keep the results as Parquet files in this folder, and continue from its results",
    )
    add("--seed", metavar="S", type=int, help="seed of all generators (that of DIR, or a new one)")
    add("--workers", metavar="K", type=int, default=-1, help="number of processes (one per core)")
    add(
        "--level",
        metavar="L",
        type=float,
        default=0.95,
        help="level of the intervals of means (0.95)",
    )
    add("--quiet", action="store_true", help="no progress bar")
