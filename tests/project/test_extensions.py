"""Strangers extend dpcore without touching it: only public names, and nothing is registered."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore import studies
from dpcore.privacy import spending

from . import own_mechanism
from .own_mechanism import EachCell

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 16)
N = 4_000
SCORES = RNG(1).random(N)
LABELS = RNG(2).random(N) < SCORES
OWN = EachCell(2.0)


def test_it_is_that_of_the_page():
    page = (ROOT / "docs" / "guides" / "extending.md").read_text("utf-8")
    first, second, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert first.strip() in inspect.getsource(own_mechanism)
    exec(second, {"dp": dp, "np": np, "EachCell": EachCell})


def test_the_page_runs_as_it_is_pasted(tmp_path):
    page = (ROOT / "docs" / "guides" / "extending.md").read_text("utf-8")
    pasted = tmp_path / "pasted.py"
    pasted.write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)))
    ended = subprocess.run([sys.executable, pasted], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_it_is_short():
    lines = [line for line in inspect.getsource(EachCell).splitlines() if line.strip()]
    assert len(lines) <= 20


def test_a_curve_its_json_and_its_mechanism():
    curve = dp.cdf(SCORES, GRID, OWN)
    assert abs(curve.quantile(0.5) - 0.5) < 0.05
    assert curve.privacy == dp.Privacy(2.0)
    again = dp.CDF.from_json(curve.to_json())
    assert again == curve
    assert dp.mechanisms.from_curve(again) == OWN
    low, high = curve.quantile_interval(0.5)
    assert low < curve.quantile(0.5) < high
    assert dp.cdf_from_counts(GRID.count(SCORES), GRID, OWN).n > 0


def test_groups_tables_and_classes():
    groups = np.arange(N) % 2
    assert set(
        dp.cdf(SCORES, GRID, EachCell(2.0, "add-or-remove-one"), by=groups, groups=[0, 1])
    ) == {0, 1}
    cells = dp.TableGrid(GRID, GRID)
    assert dp.table(SCORES, SCORES, cells, OWN).n > 0
    curves = dp.score_curves(LABELS, SCORES, GRID, mechanism=OWN)
    assert curves.positives[-1] > 0
    roc = dp.roc_curve(LABELS, SCORES, GRID, mechanism=OWN)
    low, high = roc.auc_interval()
    assert low < roc.auc < high
    test = dp.hosmer_lemeshow(LABELS, SCORES, mechanism=OWN, fitted=False)
    assert 0 < test.pvalue <= 1


def test_two_curves_are_compared():
    first, second = (dp.cdf(SCORES[part::2], GRID, OWN) for part in range(2))
    assert dp.compare(first, second).p_value > 0.001


def test_plans():
    plan = dp.plan(GRID.size, epsilon=2.0, also=[OWN])
    assert OWN in [option.mechanism for option in plan]
    assert plan.best != OWN  # noise on cells adds up
    with pytest.raises(dp.ParameterError, match="also"):
        dp.plan(GRID.size, epsilon=1.0, also=[OWN])  # it spends more


@pytest.mark.parametrize("wrong", [[1.0], [np.nan] * 16, [-1.0] * 16, [[1.0] * 16], None, "a"])
def test_plans_take_no_deviation_that_is_none(wrong):
    own = type("Wrong", (EachCell,), {"noise_deviation": lambda self, size: wrong})(2.0)
    with pytest.raises((dp.ParameterError, dp.DtypeError), match="also"):
        dp.plan(16, epsilon=2.0, also=[own])


def test_a_deviation_may_be_a_list():
    listed = type("Listed", (EachCell,), {"noise_deviation": lambda self, size: [1.0] * size})
    assert len(list(dp.plan(16, epsilon=2.0, also=[listed(2.0)]))) > 1


def test_what_a_mechanism_does_not_fill_is_no_memory():
    empty = type("Empty", (EachCell,), {"_fill": lambda self, counts, out, stream: None})
    assert np.isnan(empty(2.0).release(np.array([40, 30, 20]))[:-1]).all()


def test_budgets():
    with dp.Budget(epsilon=5.0) as budget:
        OWN.release(GRID.count(SCORES))
        dp.cdf(SCORES, GRID, OWN)
        with pytest.raises(dp.BudgetError):
            OWN.release(GRID.count(SCORES))
    assert budget.spent.epsilon == 4.0
    assert [charge.what for charge in budget.log] == ["EachCell.release", "cdf"]


def test_studies():
    @studies.study({"mechanism": {"own": EachCell}})
    def error(rng, mechanism):
        curve = dp.cdf(SCORES, GRID, mechanism(2.0), rng=rng)
        return {"error": curve.quantile(0.5) - 0.5}

    results = studies.run(error, replicates=3, seed=1)
    assert np.abs(results.array("error")).max() < 0.1


def test_the_command_line(tmp_path, capsys):
    from dpcore.command_line.main import main

    file = tmp_path / "scores.csv"
    file.write_text("x\n" + "\n".join(map(str, SCORES)))
    path = tmp_path / "curve.json"
    arguments = ["cdf", str(file), "--column", "x", "--lower", "0", "--upper", "1", "--size", "16"]
    own = f"{EachCell.__module__}:EachCell"
    main([*arguments, "--epsilon", "2", "--mechanism", own, "--json", str(path), "--quiet"])
    assert dp.CDF.from_json(path.read_text()).mechanism["name"] == "each-cell"
    capsys.readouterr()


MECHANISMS = [
    OWN,
    dp.mechanisms.AdaptiveQuantiles(1.0, steps=3),
    dp.mechanisms.Dawa(1.0),
    dp.mechanisms.Dyadic(0.7, base=3),
    dp.mechanisms.Dyadic(rho=0.1),
    dp.mechanisms.Hierarchy(1.0),
    dp.mechanisms.Hierarchy(rho=0.1, neighbours="add-or-remove-one"),
    dp.mechanisms.Histogram(0.5),
    dp.mechanisms.HistogramQueries(1.0, bins=3),
    dp.mechanisms.NoNoise(),
    dp.mechanisms.PolynomialProjection(1.0, degree=4, delta=1e-6),
    dp.mechanisms.ToeplitzGaussian(rho=0.1),
]


@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda own: str(own.describe()))
def test_all_checks_of_mechanisms(mechanism):
    dp.testing.check_mechanism(mechanism)


def test_no_mechanism_is_left_out():
    classes = {getattr(dp.mechanisms, name) for name in dp.mechanisms.__all__}
    known = {
        cls for cls in classes if isinstance(cls, type) and issubclass(cls, dp.mechanisms.Mechanism)
    }
    assert known - {dp.mechanisms.Mechanism} == set(map(type, MECHANISMS)) - {EachCell}


BROKEN = {
    "times what noise_deviation says": {"noise_deviation": lambda self, size: np.zeros(size)},
    "above mean_squared_error": {"least_mean_squared_error": lambda self, size: 1e9},
    "least_mean_squared_error is no": {"least_mean_squared_error": lambda self, size: None},
    "^mean_squared_error is no number": {"mean_squared_error": lambda self, size: None},
    "has shape": {"noise_deviation": lambda self, size: np.zeros(size + 1)},
    "not finite": {"_fill": lambda self, counts, out, stream: out.fill(np.nan)},
    "the same noise": {"_fill": lambda self, counts, out, stream: out.fill(1.0)},
    "count is not finite": {"_fill": lambda self, counts, out, stream: None},
    "is no array": {"noise_deviation": lambda self, size: "a"},
    "state a name": {},
    "does not take its description": {"describe": lambda self: {"name": self.name, "x": [1]}},
    "describe returns no mapping": {"describe": lambda self: None},
    "makes another mechanism": {"from_description": classmethod(lambda cls, *_: {"name": "x"})},
    "privacy is no Privacy": {"privacy": property(lambda self: 1.0)},
    "is_additive is neither": {"is_additive": np.ones(3)},
    "a release is a list": {"release": lambda self, counts, **_: counts.tolist()},
    "cannot be pickled": {"__reduce__": lambda self: None},
}


@pytest.mark.needs_jit
@pytest.mark.parametrize("told", BROKEN)
def test_a_broken_mechanism_is_found(told):
    name = {} if told == "state a name" else {"name": f"broken, {told}"}
    broken = type("Broken", (EachCell,), {**name, **BROKEN[told], "__module__": told})
    with pytest.raises(AssertionError, match=told):
        dp.testing.check_mechanism(broken(2.0))


def test_a_mechanism_that_cannot_draw_is_refused_before_it_is_charged():
    class Empty(dp.mechanisms.Mechanism):
        privacy = dp.Privacy(1.0)

        def noise_deviation(self, size):
            return np.zeros(size)

    with dp.Budget(epsilon=1.0) as budget, pytest.raises(dp.DtypeError, match="_fill"):
        Empty().release(np.array([1, 2]))
    assert not budget.log


def test_a_name_is_of_one_class():
    with pytest.raises(dp.ParameterError, match="dawa"):
        type("Dawa", (EachCell,), {"name": "dawa"})


def test_a_budget_too_small_to_draw_for_is_refused_before_it_is_charged():
    with dp.Budget(epsilon=1.0) as budget, pytest.raises(dp.ParameterError, match="scale"):
        EachCell(1e-300).release(np.array([1, 2]))
    assert not budget.log


def test_a_mechanism_without_a_name_is_refused_free():
    class Nameless(dp.mechanisms.Mechanism):
        privacy = dp.Privacy(1.0)
        _fill = EachCell._fill

        def noise_deviation(self, size):
            return np.zeros(size)

    with dp.Budget(epsilon=1.0) as budget:
        for use in (
            lambda: dp.cdf(SCORES, GRID, Nameless()),
            lambda: dp.plan(GRID.size, epsilon=2.0, also=[Nameless()]),
        ):
            with pytest.raises(dp.DtypeError, match="must state a name"):
                use()
    assert not budget.log


@pytest.mark.needs_jit
def test_checks_of_a_mechanism_are_no_releases():
    with dp.Budget(epsilon=1.0) as outer:
        dp.testing.check_mechanism(OWN)  # costs more than the budget has
    assert not outer.log
    with ThreadPoolExecutor() as pool:  # no budget has watched this work
        assert pool.submit(_of_a_budget_that_ends).result()


def _of_a_budget_that_ends():
    before = len(spending._ended)
    dp.testing.check_mechanism(OWN)
    return len(spending._ended) == before


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "budget", [{"epsilon": 1.0, "delta": 0.3}, {"epsilon": 1.0, "delta": 0.6}, {"rho": 1e308}]
)
def test_a_guarantee_that_no_budget_takes_often_is_checked(budget):
    dp.testing.check_mechanism(dp.mechanisms.Histogram(**budget))


@pytest.mark.parametrize("sizes", [{"size": 0}, {"size": "a"}, {"records": 2**70}, {"records": -1}])
def test_wrong_sizes_of_a_check_are_refused(sizes):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=next(iter(sizes))):
        dp.testing.check_mechanism(OWN, **sizes)


@pytest.mark.parametrize(
    "text", ["2,", "2,x", "9" * 5000, "\N{SUPERSCRIPT TWO}"], ids=["end", "x", "long", "digit"]
)
def test_numbers_of_a_stored_hierarchy_that_are_none(text):
    described = dp.mechanisms.Hierarchy(1.0).describe() | {"branching": text}
    curve = replace(dp.cdf(SCORES, GRID, OWN), mechanism=described)
    with pytest.raises(dp.ParameterError, match="of this version"):
        dp.mechanisms.from_curve(curve)


@pytest.mark.parametrize("name", [":EachCell", ".own:EachCell", "::"])
def test_a_module_without_a_name_is_told_on_the_command_line(name, tmp_path, capsys):
    from dpcore.command_line.main import main

    file = tmp_path / "scores.csv"
    file.write_text("x\n1\n")
    what = ["cdf", str(file), "--column", "x", "--lower", "0", "--upper", "1", "--epsilon", "2"]
    assert main([*what, "--mechanism", name]) == 2
    assert "or module:Class" in capsys.readouterr().err


def test_a_mechanism_that_is_sent_by_its_value_is_made_again_in_workers():
    sent = "a class that a worker gets, before it gets its name"
    late = type("Late", (EachCell,), {"__module__": sent})
    late.name = sent  # as cloudpickle does
    assert dp.mechanisms.from_curve(dp.cdf(SCORES, GRID, late(2.0))) == late(2.0)


def test_a_mechanism_that_is_no_dataclass_is_told_so():
    class Plain(EachCell.__base__):
        name = "plain"

        def __init__(self, epsilon):
            self.epsilon = epsilon

        _fill, noise_deviation = EachCell._fill, EachCell.noise_deviation

    with pytest.raises(dp.ParameterError, match="mechanism must be a dataclass"):
        dp.cdf(SCORES, GRID, Plain(2.0))
