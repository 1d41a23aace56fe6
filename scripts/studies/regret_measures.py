"""Regret in all measures, on more grids: ``python scripts/study.py regret_measures``.

Writes docs/measured/regret-measures.md: the tables of other measures of ``regret``, for its other
grids and budgets. With ``--data DIR`` (or DPCORE_DATA) it also uses the DPBench histograms in that
folder, which are not part of this project. Takes some minutes.
"""

from dataclasses import replace

from _pages import parts, write
from _studies import replicates, run

from . import _regret_outcomes as tables
from ._regret_experiments import RELEASES, SETTINGS, cases, errors
from ._regret_outcomes import outcomes
from ._regret_page import LISTED

DATA = ("dpbench",)  # without them, the page is not for docs/
OTHERS = [each for each in SETTINGS if each != LISTED]


def main() -> None:
    """Run, and write the page."""
    results = run(replace(errors, parameters=cases(OTHERS, "held-out")), RELEASES // 4)
    found = outcomes(results)
    sections: list[str | list[str]] = []
    for (cells, epsilon), own in found.by("cells", "epsilon"):
        sections += [f"## {cells:,} cells, epsilon = {epsilon:g}", tables.by_measure(own)]
    write(
        "measured/regret-measures.md", parts(HEAD.format(releases=replicates(results)), *sections)
    )


HEAD = """\
# Regret in all measures

Written by `python scripts/study.py regret_measures --data DIR`: the table of other measures of
[regret.md](regret.md) on its other grids, for held-out shapes, with {releases} releases each."""
