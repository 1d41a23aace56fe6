"""What ``dpcore study`` takes, and what its help says."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["REPLICATES", "add_study"]

REPLICATES: Final = 100  # unless it is said: means are then known to a tenth of a deviation


def add_study(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command, with its options."""
    study = command(
        "study",
        help="run a Monte Carlo study, or list them",
        description="Run a Monte Carlo study: one that comes with dpcore, or one in a Python file "
        "of your own, and show means of what it found, with their intervals. Numbers are the same, "
        "bit for bit, for one seed on any number of workers. Studies simulate: nothing that they "
        "find protects anybody whose records are in them.",
    )
    add = study.add_argument
    add(
        "study",
        metavar="STUDY",
        nargs="?",
        help="a name that --list says; or FILE.py; or FILE.py:NAME, if the file has several",
    )
    add(
        "--list",
        action="store_true",
        help="say what studies there are, or what STUDY is, with their parameters; run nothing",
    )
    add(
        "--replicates",
        metavar="R",
        type=int,
        help=f"how many of each combination of parameters ({REPLICATES}, or the next multiple of "
        "the study's batch)",
    )
    add(
        "--set",
        metavar="P=V,...",
        action="append",
        default=[],
        help="other values of a parameter: numbers, or labels that the study knows; again for "
        "other parameters",
    )
    add(
        "--out",
        metavar="DIR",
        type=Path,
        help="keep the results as Parquet files in this folder, and go on from what it holds",
    )
    add("--seed", metavar="S", type=int, help="of all generators (that of DIR, or a new one)")
    add("--workers", metavar="K", type=int, default=-1, help="processes (one for each core)")
    add("--level", metavar="L", type=float, default=0.95, help="of the intervals of means (0.95)")
    add("--quiet", action="store_true", help="no progress bar")
