"""Every result comes back from JSON, by its class or by its kind; files that are none are named."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore import _load
from dpcore.curves import stored
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.records.files import FileError
from tests.curves.test_stored_releases import ODD

F = dp.trust.functions
RNG = np.random.default_rng
SCORES = RNG(3).normal(0.5, 0.2, 900).clip(0.01, 0.99)
LABELS = RNG(4).random(900) < SCORES
GRID = dp.Grid.uniform(0, 1, 16)
YEAR = dp.Grid.uniform("2024-01-01", "2025-01-01", 24)
DAYS = np.datetime64("2024-01-01") + RNG(5).integers(0, 366, 900).astype("m8[D]")
HOURS = dp.Grid.uniform(np.timedelta64(0, "h"), np.timedelta64(5, "h"), 10)
CURVE = dp.cdf(SCORES, GRID, epsilon=1.0, rng=RNG(1))
OTHER = dp.cdf(SCORES**2, GRID, epsilon=1.0, rng=RNG(2))
CURVES = dp.score_curves(LABELS, SCORES, epsilon=4.0, rng=RNG(1))
CELLS = dp.TableGrid(GRID, GRID)
SEEDED = {"epsilon": 1.0, "rng": RNG(1)}
PLAIN_ROC = dp.statistics.ROC.from_curves(CURVES)
HALVES = np.arange(len(SCORES)) % 2
RESULTS = {
    "cdf": CURVE,
    "cdf of times": dp.cdf(DAYS, YEAR, **SEEDED),
    "groups": dp.cdf(SCORES, GRID, by=LABELS, groups=[False, True], **SEEDED),
    "scores": CURVES,
    "scores of groups": dp.score_curves(LABELS, SCORES, GRID, by=HALVES, groups=[0, 1], **SEEDED),
    "ROC curves of groups": dp.roc_curve(LABELS, SCORES, GRID, by=HALVES, groups=[0], **SEEDED),
    "table": dp.table(SCORES, SCORES, CELLS, integers=(False, None), **SEEDED),
    "projection": dp.project(SCORES, 0, 1, rho=0.5, rng=RNG(1)),
    "quantiles": dp.quantiles(SCORES, [0.2, 0.5], GRID, **SEEDED),
    "quantile": dp.quantiles(SCORES, 0.5, GRID, **SEEDED),
    "quantiles of times": dp.quantiles(DAYS, [0.2, 0.5], YEAR, **SEEDED),
    "quantile of durations": dp.quantiles(DAYS - DAYS[0], 0.5, HOURS, **SEEDED),
    "count": dp.count(SCORES, **SEEDED),
    "counts": dp.counts(HALVES, [0, 1], **SEEDED),
    "mean": dp.mean(SCORES, (0, 1), **SEEDED),
    "class-wise calibration": dp.classwise_calibration(
        HALVES, np.c_[1 - SCORES, SCORES], [0, 1], **SEEDED
    ),
    "mean of records whose number is protected": dp.mean(
        SCORES, (0, 1), neighbours="add-or-remove-one", **SEEDED
    ),
    "test of counts": dp.chi_square_test(
        dp.counts(HALVES, [0, 1], **SEEDED), [0.5, 0.5], simulations=19
    ),
    "survival": dp.survival(SCORES, LABELS, GRID, epsilon=1.0, rng=RNG(1)),
    "survival by groups": dp.survival(
        SCORES, LABELS, GRID, epsilon=1.0, rng=RNG(1), by=LABELS, groups=[False, True]
    ),
    "cumulative incidence": dp.cumulative_incidence(
        SCORES, HALVES, GRID, [1], dp.mechanisms.Hierarchy(1.0), rng=RNG(1)
    ),
    "cumulative incidence by groups": dp.cumulative_incidence(
        SCORES, HALVES, GRID, [1], epsilon=1.0, rng=RNG(1), by=LABELS, groups=[False, True]
    ),
    "survival scores": dp.survival_scores(SCORES, LABELS, SCORES, (0, 1), epsilon=1.0, rng=RNG(1)),
    "difference of restricted means": dp.restricted_mean_difference(
        *(dp.survival(SCORES, LABELS, GRID, epsilon=1.0, rng=RNG(seed)) for seed in (1, 2)), 0.5
    ),
    "test of hazards": dp.log_rank_test(
        *(dp.survival(SCORES, LABELS, GRID, epsilon=1.0, rng=RNG(seed)) for seed in range(3)),
        simulations=19,
    ),
    "bounds": dp.bounds(SCORES, **SEEDED),
    "bounds of times": dp.bounds(DAYS, grid=YEAR, **SEEDED),
    "box plot": dp.box_plot(SCORES, GRID, **SEEDED),
    "box plot with outliers": replace(
        dp.box_plot(SCORES, GRID, **SEEDED), outliers=np.array([0.1, -2.5])
    ),
    "roc": dp.roc_curve(LABELS, SCORES, **{**SEEDED, "rng": RNG(1)}),
    "roc without its mechanism": PLAIN_ROC,
    "binormal roc": dp.statistics.BinormalROC(0.8, 9, dp.Privacy(1.0), {"name": "smooth-auc"}),
    "hosmer-lemeshow": dp.hosmer_lemeshow(LABELS, SCORES, groups=4, epsilon=5.0, rng=RNG(1)),
    "hosmer-lemeshow by groups": hosmer_lemeshow_by_groups(LABELS, SCORES, epsilon=9.0, rng=RNG(1)),
    "score histogram": dp.statistics.ScoreHistogram.quantile(
        CURVES, 8, mechanism=dp.mechanisms.from_curve(CURVES.joint)
    ),
    "reliability with empty bins": dp.statistics.reliability(CURVES, 60),
    "reliability without its curves": replace(dp.statistics.reliability(CURVES, 4), curves=None),
    "test of a law": dp.goodness_of_fit(CURVE, lambda t: t, simulations=19),
    "tests of pairs": dp.pairwise_tests({"a": CURVE, "b": OTHER}, simulations=19),
    "test of equivalence": dp.equivalence_test(CURVE, OTHER, 0.5, simulations=19),
    "comparison": dp.compare(CURVE, OTHER, simulations=19, rng=RNG(1)),
    "comparison of times": dp.compare(
        dp.cdf(DAYS, YEAR, **SEEDED),
        dp.cdf(DAYS[:400], YEAR, **SEEDED),
        probabilities=0.5,
        simulations=19,
        rng=RNG(1),
    ),
    "plan": dp.plan(64, rho=0.5, n=900),
    "plan with infinite errors": dp.plan(64, epsilon=1.0, delta=1e-6, n=90),
    "suggestion": dp.suggest(n=9000, epsilon=1.0, lower=0, upper=120, error=0.01),
    "suggestion of times": dp.suggest(
        n=9000, rho=0.1, lower="2024-01-01", upper="2025-01-01", integers=True
    ),
    "sum": dp.trust.vector_sum(
        SCORES,
        F.Together([F.One(), F.Product(F.Groups([-np.inf, 0.5, 1.0]), F.Identity(0, 1))], [1, 2]),
        dp.trust.Central(epsilon=1.0),
        rng=RNG(1),
    ),
    "sum of vectors": dp.trust.vector_sum(
        SCORES,
        F.Vector(F.Box(0, 1)),
        dp.trust.Central(rho=0.5),
        neighbours="add-or-remove-one",
        rng=RNG(1),
    ),
    "advice": dp.trust.advise(100, 1.0, "local"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_comes_back(name, tmp_path):
    result = RESULTS[name]
    text = result.to_json()
    path = tmp_path / "result.json"
    path.write_text(text + "\n")
    for again in (
        type(result).from_json(text),
        dp.load(text),
        dp.load(text.encode()),
        dp.load(path),
        dp.load(str(path)),
    ):
        assert type(again) is type(result)
        assert again == result
        assert hash(again) == hash(result)
        assert repr(again) == repr(result)
        assert again.to_json() == text


def test_a_residual_plot_comes_back_with_new_points():
    plot = dp.residual_plot(SCORES, SCORES - 0.5, cells=4, **SEEDED)
    again = dp.load(plot.to_json())
    assert (again.table, again.privacy) == (plot.table, plot.privacy)
    assert again.points.shape == plot.points.shape


def test_every_kind_is_known_where_it_is_at_home():
    own = {kind: cls for kind, cls in stored._kinds.items() if cls.__module__.startswith("dpcore.")}
    assert {kind: cls.__module__.removeprefix("dpcore.") for kind, cls in own.items()} == (
        _load._HOMES
    )
    formats = {json.loads(result.to_json())["format"] for result in RESULTS.values()}
    assert formats == set(own) - {"dpcore.residual-plot"}


COLUMNS = {  # of the table of each kind; a new kind is missing here
    "cdf": "threshold count share low high",
    "groups": "group threshold count share low high",
    "scores": "threshold negatives positives negatives_deviation positives_deviation",
    "score-groups": "group threshold negatives positives negatives_deviation positives_deviation",
    "roc-groups": "group threshold fpr tpr fpr_low fpr_high tpr_low tpr_high",
    "survival": "time at_risk events censored survival low high cumulative_hazard",
    "survival-scores": "threshold events censored fpr tpr",
    "survival-groups": ("group time at_risk events censored survival low high cumulative_hazard"),
    "cumulative-incidence": "kind time incidence survival at_risk",
    "cumulative-incidence-groups": "group kind time incidence survival at_risk",
    "restricted-mean-difference": "until difference low high pvalue",
    "table": "x y count",
    "residual-plot": "predicted residual",
    "projection": "total",
    "quantiles": "probability value low high",
    "count": "value low high",
    "counts": "category count low high",
    "classwise-calibration": "class lower upper observed expected ratio low high",
    "mean": "value low high",
    "distribution-test": "name statistic pvalue simulations margin",
    "bounds": "lower upper n outside",
    "box-plot": "minimum first_quartile median third_quartile maximum lower_whisker upper_whisker",
    "roc": "threshold fpr tpr fpr_low fpr_high tpr_low tpr_high",
    "binormal-roc": "fpr tpr",
    "hosmer-lemeshow": "lower upper observed_negatives expected_negatives observed_positives "
    "expected_positives contribution merged is_small",
    "score-histogram": "lower upper negatives positives mean_score negatives_deviation "
    "positives_deviation",
    "reliability": "lower upper negatives positives mean_score positive_rate noise_deviation "
    "standard_error low high",
    "pairwise-tests": "first second statistic pvalue adjusted_pvalue",
    "comparison": "probability difference low high p_value",
    "plan": "name error largest_error expected_largest",  # and the errors on shapes
    "suggestion": "n count_error share_error value_error few_quantiles enough",
    "sum": "total deviation low high",
    "advice": "purpose height buckets expected_error theorem_error",
}


@pytest.mark.parametrize("name", [*RESULTS, "residual plot"])
def test_every_result_is_a_table(name):
    pytest.importorskip("pandas")
    plot = name == "residual plot"
    result = dp.residual_plot(SCORES, SCORES, cells=4, **SEEDED) if plot else RESULTS[name]
    frame = result.to_frame()
    assert len(frame)
    columns = [column for column in frame.columns if "on_shapes: " not in column]
    assert columns == COLUMNS[type(result)._kind.removeprefix("dpcore.")].split()


@pytest.mark.parametrize("name", list(RESULTS))
def test_every_result_says_what_it_cost_to_reports(name):
    guarantees = RESULTS[name]._guarantees()
    assert all(isinstance(privacy, dp.Privacy) for privacy in guarantees)
    assert guarantees or name.startswith(("plan", "suggestion", "advice"))


def test_numbers_of_tables_are_those_of_the_results():
    pytest.importorskip("pandas")
    roc, groups = RESULTS["roc"], RESULTS["ROC curves of groups"]
    frame, band = roc.to_frame(0.9), roc.band(0.9)
    fpr, tpr, thresholds = roc
    assert np.array_equal(frame[["fpr", "tpr", "threshold"]].to_numpy().T, [fpr, tpr, thresholds])
    assert frame["tpr_high"].tolist() == band.tpr_high.tolist()
    assert groups.to_frame(0.9)["tpr_low"].tolist() == groups[0].band(0.9).tpr_low.tolist()
    assert set(groups.to_frame()["group"]) == {0}
    for name in ("count", "mean"):
        row = RESULTS[name].to_frame(0.5).iloc[0]
        assert (row["low"], row["high"]) == RESULTS[name].interval(0.5)
    table = RESULTS["table"]
    cells = table.to_frame()
    at = (cells["x"] == table.grid.x.thresholds[3]) & (cells["y"] == table.grid.y.thresholds[5])
    assert cells["count"][at].tolist() == [table.counts[3, 5]]
    compared = RESULTS["comparison"]
    assert compared.to_frame()["low"].tolist() == compared.population_interval.low.tolist()
    assert len(RESULTS["comparison of times"].to_frame()) == 1
    bins = RESULTS["reliability with empty bins"]
    rows = bins.to_frame(0.5)
    assert len(rows) == 60
    assert (rows["low"].dropna() >= 0.0).all()
    assert (bins.to_frame(0.9)["high"] >= rows["high"]).dropna()[bins.counts > 0].all()
    with pytest.raises(dp.DpcoreError, match="level"):
        roc.to_frame(2)


@pytest.mark.parametrize("epsilon", [4.0, Fraction(13, 3)])
def test_intervals_and_p_values_are_those_of_before(epsilon):
    roc = dp.roc_curve(LABELS, SCORES, grid=GRID, epsilon=epsilon, rng=RNG(1))
    assert dp.load(roc.to_json()).auc_interval() == roc.auc_interval()
    test = dp.hosmer_lemeshow(LABELS, SCORES, groups=4, epsilon=epsilon, grid=GRID, rng=RNG(1))
    again = dp.load(test.to_json())
    assert again.under_noise(19).pvalue == test.under_noise(19).pvalue


def test_without_what_cannot_be_made_again():
    local = dp.trust.Local(5.0, clients=900)
    roc = dp.roc_curve(LABELS, SCORES, grid=GRID, mechanism=local, rng=RNG(1))
    again = dp.load(roc.to_json())
    assert again.curves == roc.curves
    assert again.mechanism is None
    test = dp.hosmer_lemeshow(LABELS, SCORES, groups=4, grid=GRID, mechanism=local, rng=RNG(1))
    assert dp.load(test.to_json()).simulation is None


def test_what_is_not_private_is_not_stored():
    exact = dp.score_curves(LABELS, SCORES, mechanism=dp.mechanisms.NoNoise())
    for result in (
        dp.BoxPlot.from_sample([1, 2, 3]),
        dp.statistics.ROC.from_curves(exact),
        dp.statistics.HosmerLemeshow.from_curves(exact),
        dp.statistics.reliability(exact, 4),
    ):
        with pytest.raises(dp.ParameterError, match="privacy must be finite"):
            result.to_json()


TEXT = CURVE.to_json()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not JSON"),
        (TEXT[:-9], "not JSON"),
        ("\x00\xff", "not JSON"),
        ("[1, 2]", "has to name a stored result"),
        ('{"format": "dpcore.running-count"}', "has to name a stored result"),
        ('{"format": ["dpcore.cdf"]}', "has to name a stored result"),
        (TEXT.replace('"version": 1', '"version": 2'), "format version 2"),
        (TEXT.replace('"n": 900', '"n": 901'), "counts must end with n"),
    ],
)
def test_files_that_are_no_results_are_named(tmp_path, content, words):
    path = tmp_path / "own.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(dp.FormatError, match=words) as refused:
        dp.load(path)
    assert str(path) in str(refused.value)


def test_what_is_neither_a_file_nor_a_text(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        dp.load(tmp_path / "none.json")
    with pytest.raises(FileError, match="cannot be read"):
        dp.load("a\x00b")
    with pytest.raises(dp.DtypeError, match="path_or_text must be a path"):
        dp.load(3)
    with pytest.raises(dp.FormatError, match="not JSON"):
        dp.load("{")


def changed(text, changes):
    """The text with some of its places changed."""
    data = json.loads(text)
    for number, value in changes:
        places, todo = [], [data]
        while todo:
            at = todo.pop()
            keys = list(at) if isinstance(at, dict) else range(len(at))
            places += [(at, key) for key in keys]
            todo += [at[key] for key in keys if isinstance(at[key], dict | list)]
        at, key = places[number % len(places)]
        at[key] = value
    return json.dumps(data)


SMALL = [name for name, result in RESULTS.items() if len(result.to_json()) < 6000]


@settings(max_examples=300)
@given(st.sampled_from(SMALL), st.lists(st.tuples(st.integers(0, 400), ODD), max_size=2))
def test_damaged_texts_are_refused_or_read_as_a_whole(name, changes):
    text = changed(RESULTS[name].to_json(), changes)
    try:
        again = dp.load(text)
    except dp.FormatError:
        return
    assert dp.load(again.to_json()) == again
    assert repr(again)


@pytest.mark.parametrize(
    ("name", "field", "value", "words"),
    [
        ("quantiles", "values", [0.5], "values must have the shape"),
        ("quantiles", "values", {"unit": "years", "values": [1, 2]}, "unit"),
        ("quantiles of times", "values", {"unit": "time", "values": [0.5, 1]}, "microseconds"),
        ("quantiles", "n", 900.0, "n must be an integer"),
        ("quantiles", "method", 1, "method must be"),
        ("quantiles", "epsilon_each", True, "epsilon_each must be a real number"),
        ("quantiles", "epsilon_each", "nan", "epsilon_each must be positive"),
        ("quantiles", "epsilon_each", 1e9, "at most that of all quantiles"),
        ("quantiles", "probabilities", [0.5, 1.5], "within"),
        ("quantiles", "values", [3e9, -3e9], "must not cross"),
        ("bounds", "lower", [0.5], "lower must be one value"),
        ("bounds", "lower", "nan", "above lower"),
        ("bounds", "lower", 1e300, "above lower"),
        ("bounds", "lower", {"unit": "time", "values": 1}, "of the kind of lower"),
        ("box plot", "minimum", 1e300, "ascending"),
        ("box plot", "median", "nan", "ascending"),
        ("box plot", "outliers", ["nan"], "outliers must be finite"),
        ("box plot", "outliers", 1.0, "outliers must be a list"),
        ("hosmer-lemeshow", "observed", [[1.0, 2.0]], "observed must have the shape"),
        ("comparison", "population_interval", [1.0], "population_interval must be a list of 2"),
        (
            "comparison",
            "population_interval",
            [1.0, 2.0],
            "population_interval must have the shape",
        ),
        ("comparison", "n", [900], "n must be a list of 2"),
        ("comparison", "level", [0.95], "level must be a real number"),
        ("plan", "options", [{}], "without the field 'error'"),
        ("plan", "options", [], "options must hold one or more"),
        ("quantiles", "n", -1, "n must be an integer, 0 or more"),
        ("plan", "options", 3, "options must be a list"),
        ("suggestion", "mechanism", {"name": "dawa"}, "a mechanism without the field"),
        ("advice", "heights", [3], "heights must be an object"),
        ("roc", "mechanism", {"parameters": {}, "neighbours": "replace-one"}, "bad field"),
        ("advice", "expected_errors", {}, "expected_errors must have the purposes of heights"),
        ("advice", "buckets", {"auc": 3}, "buckets must have the purposes of heights"),
        ("mean", "noise_deviation", 1e71, "noise_deviation must be 0 or more"),
    ],
)
def test_parts_of_another_form_are_refused(name, field, value, words):
    data = json.loads(RESULTS[name].to_json())
    with pytest.raises(dp.FormatError, match=words):
        dp.load(json.dumps({**data, field: value}))


def test_shares_of_bins_are_not_negative():
    data = json.loads(RESULTS["reliability without its curves"].to_json())
    data["bins"]["positives"][1] *= -1
    with pytest.raises(dp.FormatError, match="positives must not be negative"):
        dp.load(json.dumps(data))


def test_larger_shares_of_bins_than_files_may_have_are_refused():
    bins = RESULTS["reliability without its curves"].bins
    with pytest.raises(dp.ParameterError, match="positives must be within"):
        replace(bins, positives=np.full_like(bins.positives, 1e71))


def with_one_changed(name, places, value):
    """The JSON of a result, with another value at one place."""
    data = json.loads(RESULTS[name].to_json())
    *before, last = places
    at = data
    for key in before:
        at = at[key]
    at[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("name", "places", "value", "words"),
    [
        ("sum of vectors", ["deviation", 0], 1.7e308, "within"),
        ("sum", ["total", 0], -1.7e308, "within"),
        ("plan", ["options", 0, "name"], "\ud800", "name must be a string that UTF-8 can write"),
        ("plan", ["options", 0, "on_shapes", "\udcff"], 0.5, "a name in on_shapes must"),
        ("cdf", ["x\ud800" * 9999], 1, "unknown field"),
        ("cdf", ["version"], ["x"] * 9999, "version"),
        ("reliability with empty bins", ["bins", "edges", 2], "-inf", "edges must be within"),
        ("reliability without its curves", ["bins", "edges", 1], 0.75, "never decrease"),
        ("hosmer-lemeshow", ["edges", 1], 1.5, "edges must be within"),
        ("hosmer-lemeshow by groups", ["observed", 0, 1], "inf", "observed must be finite"),
        ("hosmer-lemeshow by groups", ["expected", 0, 1], "nan", "expected must be finite"),
    ],
)
def test_what_no_result_holds_is_refused_in_few_words(name, places, value, words):
    with pytest.raises(dp.FormatError, match=words) as refused:
        dp.load(with_one_changed(name, places, value))
    assert len(str(refused.value)) < 300


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "places", "value", "read"),
    [
        ("mean", ["noise_deviation"], 1e70, lambda mean: mean.interval()),
        ("quantile", ["privacy", "epsilon"], 5e-324, lambda quantile: quantile.interval()),
        ("class-wise calibration", ["noise_deviation"], 1e70, lambda of: of.ratio_interval()),
        (
            "roc without its mechanism",
            ["curves", "noise_deviation", 9, 0],
            1e70,
            lambda roc: roc.to_frame(),
        ),
        (
            "roc without its mechanism",
            ["curves", "counts", 26],
            1e30,  # sums of the cells have no digit of other records
            lambda roc: (roc.population_auc_interval(), roc.plot()),
        ),
    ],
)
def test_stored_numbers_as_large_as_are_read_have_intervals(name, places, value, read):
    assert read(dp.load(with_one_changed(name, places, value))) is not None


@pytest.mark.parametrize(
    ("name", "places", "value"),
    [
        ("suggestion", ["value_error"], "nan"),
        ("comparison of times", ["population_interval", 0, "values"], -(2**63)),  # NaT
    ],
)
def test_what_is_not_a_number_equals_itself_after_reading(name, places, value):
    again = [dp.load(with_one_changed(name, places, value)) for _ in range(2)]
    assert again[0] == again[1] != RESULTS[name]
    assert hash(again[0]) == hash(again[1])


def test_a_part_without_a_guarantee_is_not_stored_alone():
    curves = dp.score_curves([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9], mechanism=dp.mechanisms.NoNoise())
    with pytest.raises(dp.DtypeError, match="must be a whole result"):
        dp.statistics.uniform_bins(curves, 2).to_json()


def test_errors_of_a_class_name_what_reads_the_rest():
    with pytest.raises(dp.FormatError, match=r'be "dpcore.cdf"; dpcore.load reads other kinds$'):
        dp.CDF.from_json(RESULTS["groups"].to_json())
    with pytest.raises(dp.FormatError, match=r'be "dpcore.cdf"$'):
        dp.CDF.from_json("{}")
    with pytest.raises(dp.FormatError, match=r"dpcore\.load reads files"):
        dp.CDF.from_json("own.json")


def test_a_plan_has_errors_on_the_same_shapes():
    data = json.loads(RESULTS["plan with infinite errors"].to_json())
    told = [option for option in data["options"] if option["on_shapes"]]
    for name, words in (
        ("on_shapes", "largest_on_shapes must have the shapes of on_shapes"),
        ("largest_on_shapes", "options must have errors on the same shapes"),
    ):
        told[-1][name]["few valwes"] = told[-1][name].pop("few values")
        with pytest.raises(dp.FormatError, match=words):
            dp.load(json.dumps(data))


@pytest.mark.parametrize(("field", "value"), [("groups", 2**53), ("groups", 0), ("minimum", -1.0)])
def test_a_simulation_that_no_test_has_is_refused_when_it_is_read(field, value):
    """Its p-value would ask for more memory than there is."""
    scores = np.random.default_rng(1).random(3000)
    labels = np.random.default_rng(2).random(3000) < scores
    data = json.loads(dp.hosmer_lemeshow(labels, scores, epsilon=5.0).to_json())
    data["simulation"][field] = value
    with pytest.raises(dp.FormatError, match=field):
        dp.load(json.dumps(data))
