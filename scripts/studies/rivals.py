"""Newer papers, compared: ``python scripts/study.py rivals --data DIR``.

Compares the releases of dpcore with rivals of ``dpcore.papers``, and quantiles by cubics with
linear ones. Writes docs/measured/rivals.md.
Needs a folder with bank-full.csv, diabetic_data.csv, framingham.csv, SOCR-HeightWeight.csv and
dpbench (not part of this project). Takes some minutes.
"""

from _pages import parts, write
from _studies import run

from ._rival_cubics import RUNS as RUNS_OF_DECILES
from ._rival_cubics import errors_of_deciles, of_deciles
from ._rival_curves import RUNS as RUNS_OF_CURVES
from ._rival_curves import errors_of_curves, of_curves
from ._rival_scores import RUNS as RUNS_OF_ROCS
from ._rival_scores import errors_of_rocs, of_rocs

DATA = (
    *("bank-full.csv", "diabetic_data.csv", "framingham.csv"),
    *("SOCR-HeightWeight.csv", "dpbench"),
)


def main() -> None:
    """Run, and write the page."""
    rocs, curves = run(errors_of_rocs, RUNS_OF_ROCS), run(errors_of_curves, RUNS_OF_CURVES)
    deciles = run(errors_of_deciles, RUNS_OF_DECILES)
    write("measured/rivals.md", parts(HEAD, of_rocs(rocs), of_curves(curves), of_deciles(deciles)))


HEAD = """\
# Rivals of newer papers

Written by `python scripts/study.py rivals --data DIR`: `dpcore` beside newer papers at the same
budget, under replace-one."""
