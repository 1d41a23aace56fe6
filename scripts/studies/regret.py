"""The error of the default relative to the best contender: ``python scripts/study.py regret``.

Writes docs/measured/regret.md and docs/measured/regret.png. With ``--data DIR`` (or DPCORE_DATA) it
also uses the DPBench histograms in that folder, which are not part of this project. ``--quick``
prints tables of a few cases, all with shapes on which rules may be tuned. Takes ten minutes.
"""

from dataclasses import replace

import _studies
from _pages import save, write
from _studies import replicates, run

from . import _regret_outcomes as tables
from . import _regret_page as page
from ._regret_experiments import (
    LARGEST,
    OTHER_SETTINGS,
    QUICK_SETTINGS,
    RATIOS,
    RELEASES,
    SETTINGS,
    cases,
    errors,
)
from ._regret_outcomes import outcomes

DATA = ("dpbench",)  # without them, the page is not for docs/


def main() -> None:
    """Run, print or write."""
    if _studies.given.quick:
        few = cases(QUICK_SETTINGS, "tuning", RATIOS[::2])
        show(outcomes(run(replace(errors, parameters=few), RELEASES, quick=60)))
        return
    usual = run(replace(errors, parameters=cases(SETTINGS)), RELEASES)
    large = run(replace(errors, parameters=cases(LARGEST)), RELEASES // 4)
    other = run(replace(errors, parameters=cases(OTHER_SETTINGS)), RELEASES // 2)
    found = outcomes(large, usual)
    write("measured/regret.md", page.of_curves(found, outcomes(other), replicates(usual)))
    save(page.drawn(found), "measured/regret.png")


def show(found: tables.Outcomes) -> None:
    """Print tables."""
    for lines in (
        tables.summary(found),
        tables.by_setting(found),
        *tables.worst(found),
        tables.by_mechanism(found),
        tables.by_measure(found),
        tables.by_shape(found),
        tables.bands(found),
    ):
        print(*lines, sep="\n", end="\n\n")
