"""All figures and tables of the papers are drawn from few replicates, and say what came out."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcore import studies

SCRIPTS = Path(__file__).parents[2] / "scripts"
FIGURES = sorted(
    path.stem
    for paper in ("ecdf", "federated", "projection", "regression")
    for path in (SCRIPTS / "papers").glob(f"{paper}_[ft]*.py")
    if path.stem not in ("ecdf_figure_07", "ecdf_table_1")  # whose own tests draw them
)
# Parameters that take no time, for those studies of a paper or of a figure that have them.
SMALL = {
    "federated": {"clients": 4000, "step": [0, 1]},
    "federated_figure_03": {"clients": [1000, 4000, 8000]},
    "regression_figure_03": {"n": (500, 1000)},
    "regression_figure_07": {"epsilon": (0.1, 1.0)},
    "regression_figure_08": {"epsilon": (0.1, 1.0)},
    "regression_figure_09": {"product": (1000, 3000), "auc": (0.7, 0.725)},
    "regression_table_1": {"n": (500, 1000), "epsilon": 1.0, "plots": 4},
}
OF_DATA = [f"ecdf_figure_{number}" for number in ("01", "05", "06", "08", "09", "10")]
OF_DATA += [f"regression_figure_{number}" for number in ("05", "06", "07", "08")]


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("name", FIGURES)
def test_each_is_drawn_and_says_what_came_out(paper, name, tmp_path):
    figure, results = paper(name).FIGURE, {}
    small = SMALL.get(name.partition("_")[0], {}) | SMALL.get(name, {})
    for run in figure.runs:
        values = {key: value for block in run.study.blocks for key, value in block.items()}
        few = {key: value for key, value in small.items() if key in values}
        if name.startswith("projection") and "population" in values:
            few["population"] = list(values["population"])[:2]
        often = 1 if name.startswith(("federated_figure", "regression_table")) else 2
        study = run.study.over(**{**run.quickly, **few})
        results[run.study.name] = studies.run(study, replicates=often, seed=1, workers=1)
    made = paper("_figure").Made(results, tmp_path / "figure.png", quick=True)
    outcome = figure.draw(made)
    assert made.path.exists() != name.startswith("federated_table")
    assert outcome.verdict in ("agrees", "in part", "differs", "not checkable")
    assert all([outcome.paper, outcome.ours, figure.claim])
    assert all("nan" not in text.split() for text in (*outcome[:4], *outcome.table))
    if name.startswith(("ecdf", "regression")):
        assert bool(made.data) == (name in OF_DATA)
    if name.startswith("projection"):
        rivals = name != "projection_figure_04"  # which use the public n, unlike the paper's
        assert ("public n" in outcome.paper) == rivals
        assert ("not use n" in outcome.why) == rivals
