"""The default's error over that of the best in hindsight: ``python scripts/study.py regret``.

Writes docs/regret.md and docs/regret.png. With ``--data DIR`` (or DPCORE_DATA) it takes the DPBench
histograms and the Bank data that are there, too, which are not part of this project. ``--quick``
and ``--group`` print tables of a part, and write nothing. Takes some minutes. The first start makes
``.venv`` in the clone.
"""

import argparse
import os
from pathlib import Path

from _environment import ROOT, ensure

ensure("figures", "bench")

# What follows needs the environment.
from . import _regret_page as page  # noqa: E402
from . import _regret_tables as tables  # noqa: E402
from ._regret_experiments import (  # noqa: E402
    OTHER_SETTINGS,
    QUICK_SETTINGS,
    RATIOS,
    RELEASES,
    SETTINGS,
    Outcome,
    cases,
    run,
)
from ._regret_roc import ranks  # noqa: E402
from ._regret_shapes import shapes  # noqa: E402


def main() -> None:
    """Run, print or write, and say where."""
    given = arguments()
    group, processes = given.group or ("tuning" if given.quick else None), given.processes
    taken = [each for each in shapes(given.data) if group in (each.group, None)]
    if given.quick:
        show(run(cases(taken, QUICK_SETTINGS, RATIOS[::2], given.releases or 60), processes))
        return
    releases = given.releases or RELEASES
    outcomes = run(cases(taken, SETTINGS, releases=releases), processes)
    if given.group:
        show(outcomes)
        return
    others = run(cases(taken, OTHER_SETTINGS, releases=releases // 2), processes)
    if given.data is None:
        print("DPBench histograms and ROC curves are skipped: they need --data DIR")
        areas = None
    else:
        areas = ranks(given.data, processes)
    text, picture = ROOT / "docs" / "regret.md", ROOT / "docs" / "regret.png"
    text.write_text("\n".join(page.whole(outcomes, others, areas, releases)) + "\n", "utf-8")
    page.draw(outcomes, picture)
    for path in (text, picture):
        print(f"written: {path.relative_to(ROOT)}")


def show(outcomes: list[Outcome]) -> None:
    """Print tables."""
    for lines in (
        tables.summary(outcomes),
        tables.by_setting(outcomes),
        tables.worst(outcomes),
        tables.by_mechanism(outcomes),
        tables.by_shape(outcomes),
        tables.bands(outcomes),
    ):
        print(*lines, sep="\n", end="\n\n")


def arguments() -> argparse.Namespace:
    """Return the arguments of the command."""
    parser = argparse.ArgumentParser(description="Errors beside those of the best in hindsight.")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("DPCORE_DATA"),
        metavar="DIR",
        help="a folder with dpbench/*.npy and bank-full.csv; default: DPCORE_DATA",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few cases, of shapes for tuning; print, do not write"
    )
    parser.add_argument("--group", choices=("tuning", "held-out"), help="print these, do not write")
    parser.add_argument("--releases", type=int, metavar="N", help=f"default: {RELEASES} a case")
    parser.add_argument("--processes", type=int, metavar="K", help="default: one a processor")
    return parser.parse_args()


if __name__ == "__main__":
    main()
