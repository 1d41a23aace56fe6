"""What a file of this folder says: whose figure it is, what it runs, and what came out."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib.pyplot as plt
from _pictures import stands_alone
from _studies import label
from matplotlib.figure import Figure as Picture
from PIL import Image

from dpcore import studies
from dpcore.curves.colours import BLUE, GREEN, GREY, LIGHT, PURPLE, TELLING, VERMILION
from dpcore.studies import Results, Study

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "LIGHT",
    "PURPLE",
    "TELLING",
    "VERMILION",
    "Figure",
    "Made",
    "Outcome",
    "Runs",
    "Verdict",
    "panels",
    "verdict",
]

PAPERS: dict[str, str] = {
    "ecdf": "Barczewski, Mawass & Ramon: Differentially Private Empirical Cumulative Distribution"
    " Functions",
    "regression": "Chen, Machanavajjhala, Reiter & Barrientos: Differentially Private Regression"
    " Diagnostics",
    "projection": "Tao & Sarwate: Differentially Private Distribution Estimation Using Functional"
    " Approximation (polynomial projection)",
    "federated": "Cormode & Markov: Federated Calibration and Evaluation of Binary Classifiers",
}
Verdict = Literal["agrees", "differs", "in part"]
SEED = 1


class Runs(NamedTuple):
    """A study of a figure, and how often it is run.

    Parameters
    ----------
    study
        What is run.
    replicates
        As often as in the paper; where it does not say, as often as it takes.
    quick
        As often with ``--quick``.
    quickly
        Parameters that have other values with ``--quick``, as for ``Study.over``.
    alone
        On one worker: what is measured is time.
    """

    study: Study
    replicates: int
    quick: int
    quickly: Mapping[str, Any] = {}
    alone: bool = False


class Outcome(NamedTuple):
    """What came out, as the page shows it: sentences without a line break, from the results.

    Parameters
    ----------
    paper
        What the paper's method gives here.
    ours
        What dpcore's own way gives here; the same measure.
    verdict
        Whether the paper's claim comes out.
    why
        Why not, or not quite, and what was checked; and what else a reader should know.
    table
        Lines of a table for the page, where the paper has one.
    """

    paper: str
    ours: str
    verdict: Verdict
    why: str = ""
    table: tuple[str, ...] = ()


@dataclass
class Made:
    """What a figure is drawn from, and where it goes.

    Parameters
    ----------
    results
        Of each study, by its name.
    path
        Of the picture.
    quick
        Whether replicates are few, and what is said should be careful.
    """

    results: Mapping[str, Results]
    path: Path
    quick: bool
    data: list[str] = field(default_factory=list)

    def uses(self, data: str) -> None:
        """Name data that the figure shows: real, or what stands in for them."""
        if data not in self.data:
            self.data.append(data)

    def save(self, picture: Picture) -> None:
        """Write the picture, with the data's names below it."""
        stands_alone(picture)
        if self.data:
            below = f"Data: {'; '.join(self.data)}"
            picture.supxlabel(below, fontsize=8, color=GREY, x=0.99, ha="right")
        whole = io.BytesIO()
        picture.savefig(whole, dpi=110)
        plt.close(picture)
        few_colours = Image.open(whole).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
        few_colours.save(self.path, optimize=True)


@dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper.

    Parameters
    ----------
    source
        Which, as the paper calls it, and its section: "Figure 2 (section 6.3)".
    claim
        What the paper says that it shows, in our words.
    draw
        Draws it from the results, saves the picture, and returns what came out.
    runs
        The studies behind it; none, if all is one release or one reading.
    """

    source: str
    claim: str
    draw: Callable[[Made], Outcome]
    runs: tuple[Runs, ...] = ()

    def results(self, folder: Path, *, quick: bool, workers: int | None) -> dict[str, Results]:
        """Run the studies, or what is missing of them; other code, dpcore's too, begins anew."""
        found = {}
        for study, replicates, few, quickly, alone in self.runs:
            if quick:
                study, replicates = study.over(**quickly), few
            found[study.name] = studies.run(
                study,
                replicates=replicates,
                out=folder / label(study),
                seed=SEED,
                workers=1 if alone else workers,
            )
        return found


def verdict(*statements: Any) -> Verdict:
    """Return what it comes to that these statements of the paper hold, or do not."""
    return "agrees" if all(statements) else "in part" if any(statements) else "differs"


def panels(columns: int = 1, rows: int = 1, *, width: float = 5.0, height: float = 3.6) -> Any:
    """Return a picture, and its axes as an array of (rows, columns)."""
    plt.switch_backend("Agg")
    size = (width * columns, height * rows)
    picture, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for each in axes.flat:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(color="0.92")
        each.set_prop_cycle(color=TELLING)
    return picture, axes
