"""The description of a figure: its source, its claim, its studies, and its results."""

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
Verdict = Literal["agrees", "differs", "in part", "not checkable"]
SEED = 1


class Runs(NamedTuple):
    """A study of a figure, and its number of replicates.

    Parameters
    ----------
    study
        The study.
    replicates
        The number of replicates: that of the paper, or enough of them if the paper has none.
    quick
        The number of replicates with ``--quick``.
    quickly
        Parameters that have other values with ``--quick``, as for ``Study.over``.
    alone
        Whether to use one worker only, because the study measures time.
    """

    study: Study
    replicates: int
    quick: int
    quickly: Mapping[str, Any] = {}
    alone: bool = False


class Outcome(NamedTuple):
    """The results of a figure as sentences for the page, without line breaks.

    Parameters
    ----------
    paper
        The results of the paper's method here.
    ours
        The results of dpcore's own method here, by the same measure.
    verdict
        Whether the results agree with the paper's claim. "not checkable" if there is nothing to
        compare with: neither the paper's data nor its numbers.
    why
        The reasons if they do not fully agree, what was checked, and other remarks for readers.
    table
        Lines of a table for the page.
    """

    paper: str
    ours: str
    verdict: Verdict
    why: str = ""
    table: tuple[str, ...] = ()


@dataclass
class Made:
    """The input of a figure, and the path of its picture.

    Parameters
    ----------
    results
        The results of each study, by its name.
    path
        The path of the picture.
    quick
        Whether there are few replicates, so that statements should be careful.
    """

    results: Mapping[str, Results]
    path: Path
    quick: bool
    data: list[str] = field(default_factory=list)

    def uses(self, data: str) -> None:
        """Note the name of data that the figure shows, real or a stand-in."""
        if data not in self.data:
            self.data.append(data)

    def save(self, picture: Picture) -> None:
        """Write the picture, with the names of the data below it."""
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
        The name in the paper and the section: "Figure 2 (section 6.3)".
    claim
        The paper's statement about it, in our words.
    draw
        A function that draws it from the results, saves the picture, and returns the outcome.
    runs
        The studies behind it. There are none if it shows one release or reads one file.
    """

    source: str
    claim: str
    draw: Callable[[Made], Outcome]
    runs: tuple[Runs, ...] = ()

    def results(self, folder: Path, *, quick: bool, workers: int | None) -> dict[str, Results]:
        """Run the studies, except for stored replicates. Changed code, dpcore's too, runs anew."""
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
    """Return the verdict, given which statements of the paper hold."""
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
