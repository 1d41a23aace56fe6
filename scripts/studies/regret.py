"""The default's error over that of the best in hindsight: ``python scripts/study.py regret``.

Writes docs/regret.md and docs/regret.png. With ``--data DIR`` (or DPCORE_DATA) it also takes the
DPBench histograms and the Bank data that are there, which are not part of this project. ``--quick``
prints a small part, of the shapes that rules may be tuned on. The first start makes ``.venv`` in
the clone.
"""

import argparse
import os
from pathlib import Path

from _environment import ensure

ensure("studies", "bench")

# What follows needs the environment.
from . import _regret_page as page  # noqa: E402
from ._regret_contenders import contenders  # noqa: E402
from ._regret_experiments import (  # noqa: E402
    QUICK_SETTINGS,
    RATIOS,
    SETTINGS,
    Outcome,
    cases,
    evaluate,
    run,
)
from ._regret_shapes import shapes  # noqa: E402

__all__ = ["cases", "contenders", "evaluate", "run", "shapes"]


def main() -> None:
    """Run, print or write, and say where."""
    given = arguments()
    taken = [each for each in shapes(given.data) if given.group in (each.group, None)]
    if given.quick:
        print_tables(run(cases(taken, QUICK_SETTINGS, RATIOS[::2], 60), given.processes))
        return
    print_tables(run(cases(taken, SETTINGS, RATIOS, 40), given.processes))


def print_tables(outcomes: list[Outcome]) -> None:
    """Print what there is."""
    for lines in (
        page.summary(outcomes),
        page.by_mechanism(outcomes),
        page.by_shape(outcomes),
    ):
        print("\n".join(lines), end="\n\n")


def arguments() -> argparse.Namespace:
    """Return the arguments of the command."""
    parser = argparse.ArgumentParser(description="Errors beside the best in hindsight.")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("DPCORE_DATA"),
        metavar="DIR",
        help="a folder with dpbench/*.npy and bank-full.csv; default: DPCORE_DATA",
    )
    parser.add_argument("--quick", action="store_true", help="print a small part, write nothing")
    parser.add_argument(
        "--group", choices=("tuning", "held-out"), help="print these shapes, write nothing"
    )
    parser.add_argument("--processes", type=int, metavar="K", help="default: one a processor")
    return parser.parse_args()


if __name__ == "__main__":
    main()
