"""Studies behind pages measure what they say, on cases whose answer is known."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Histogram
from dpcore.trust import FunctionSharing, comparison
from dpcore.trust.models.remembered_noise import prefix_deviation

# --- quantiles, bounds, tables, models and intervals


def test_deciles_of_whole_numbers_are_exact_without_noise_where_cells_are_theirs(study, rng):
    quantiles = study("quantiles")
    exact = {
        name: quantiles.whole_numbers(name, 1e6, rng)["inverted_cdf"]
        for name in quantiles.WHOLE_NUMBERS
    }
    wide = exact.pop("integers, cells four wide")
    assert set(exact.values()) == {100.0}
    assert wide < 50
    fine, coarse = (
        quantiles.smooth_data(quantiles.beta, 1000, 1e6, cells, rng) for cells in (1024, 16)
    )
    assert fine["linear"] < coarse["linear"] < coarse["inverted_cdf"] < 100 / 16


def test_bounds_are_refused_or_have_the_records_within(study, rng):
    bounds = study("bounds")
    assert np.isnan(bounds.one_column("normal, sd 1", "bounds", 25, rng)["width"])
    found = bounds.one_column("normal, sd 1", "symmetric", 1e6, rng)
    assert found["width"] == 4  # the first power of two that 95 % are within, on both sides
    assert found["inside"] > 0.95
    assert bounds.true_width("uniform on [1, 50]", 0.5) == pytest.approx(49 / 2)


@pytest.mark.parametrize("method", ["searches around zero, 95 %", "boxes around zero, 8 %"])
def test_boxes_of_much_budget_have_the_records_within(study, rng, method):
    found = study("bounds").both_axes(method, 1e5, 500, rng)
    assert found["inside"] > 0.9
    assert 1 < found["area"] < 8


def test_errors_of_a_table_are_none_if_it_is_right(study, rng):
    tables = study("tables")
    true, corners = rng.poisson(5, (8, 8)), tables.boxes((8, 8))
    found = tables.errors(true.astype(float), true, corners)
    np.testing.assert_allclose(found, [0, 0, 0, tables.BLUR / 8])
    moved = true.astype(float)
    moved[0, 0] += 1
    moved[7, 7] -= 1
    assert tables.errors(moved, true, corners)[0] == pytest.approx(1 / true.sum())


def test_the_nearest_cells_of_zero_or_more_have_the_same_sum(study, rng):
    projected = study("tables").projected
    cells = rng.normal(1, 2, (6, 6))
    found = projected(cells)
    assert found.min() == 0
    assert found.sum() == pytest.approx(cells.sum())
    np.testing.assert_allclose(projected(found), found)


def test_all_shapes_of_tables_are_probabilities(study):
    shapes = study("_table_shapes")
    for shape in (*shapes.TUNING, *shapes.HELD_OUT):
        found = shapes.chances(shape, (16, 8))
        assert found.shape == (16, 8), shape
        assert found.min() >= 0, shape
        assert found.sum() == pytest.approx(1), shape


def test_tables_are_compared_over_shapes(study):
    tables = study("tables")
    compared = tables.Compared.__new__(tables.Compared)
    compared.shapes = [*tables.TUNING, *tables.HELD_OUT]
    shape = (len(compared.shapes), len(tables.TABLES), len(tables.RATIOS), 4)
    compared.errors = {"one": np.ones(shape), "other": np.full(shape, 2.0)}
    compared.errors["one"][..., 3] = 2 * 16
    found = compared.over("one", "other")
    assert found.shape == (5, len(tables.TABLES), len(tables.RATIOS))
    np.testing.assert_allclose(found[:, 0, 0], [2 ** (1 / 4), 0.5, 0.5, 0.5, 16])


def test_the_default_of_a_table_is_beside_the_best_in_each_measure(study):
    tables = study("tables")
    compared = tables.Compared.__new__(tables.Compared)
    compared.shapes = [*tables.TUNING, *tables.HELD_OUT]
    shape = (len(compared.shapes), len(tables.TABLES), len(tables.RATIOS), 4)
    names = list(tables.mechanisms(64))
    more = [f"{name}, {kind}" for name in names for kind in ("raw", "projected")]
    compared.errors = {name: np.ones(shape) for name in (*names, *more)}
    compared.errors["hierarchy"][..., 2] = 0.5
    for factor in (compared.errors["dawa"], compared.errors["dawa, rho"]):
        factor *= 4.0
    found = tables.regrets(compared, tables.HELD_OUT)
    is_dawa = tables.takes_dawa()
    assert is_dawa[:, 0].all()
    assert not is_dawa[:, -1].any()
    np.testing.assert_allclose(found[0], np.where(is_dawa, 4, 1))
    np.testing.assert_allclose(found[2], np.where(is_dawa, 8, 2))
    assert {tables.default(sides, 100) for sides in tables.TABLES} == {"histogram", "blocks"}
    assert tables.default("16 x 16", 100, tables.RHO) == "blocks, rho"
    lines = tables.page(compared, 3)
    assert "**4.00 / 4.00 / 8.00 / 4.00**" in "\n".join(lines)
    assert max(len(line) for line in lines if not line.startswith("|")) <= 100


def test_models_lose_little_to_much_budget(study, rng):
    models = study("models")
    lost = models.linear(2, 1e6, 1000, rng)
    assert abs(lost["`moments`, alpha = 1"]) < 0.01
    assert lost["`output`, alpha = 0.01 n"] < lost["`output`, alpha = 0.1 n"]


def test_intervals_are_no_wider_than_the_bound_which_covers(study, rng):
    found = study("intervals").areas("1,024", "binormal", 26_000, 1.0, rng)
    assert found["covered by bound"]
    assert not found["nothing"]
    assert found["wider"] >= 1


def test_bands_of_a_study_are_shares(study, rng, monkeypatch):
    intervals = study("intervals")
    monkeypatch.setattr(intervals, "RELEASES", 2)
    monkeypatch.setattr(intervals, "CELLS", 32)
    found = intervals.bands("uniform", 100_000, rng)
    assert all(0.5 <= found[name] <= 1 for name in ("default", "closed", "simulated"))
    assert {2 * found[f"{name}, least"] for name in ("default", "closed")} <= {0, 1, 2}
    assert 0.3 < found["ratio"] < 1.3


def test_intervals_of_quantiles_and_means_cover(study, rng):
    intervals = study("intervals")
    for curve in ("hierarchy", "hierarchy, raw", "histogram"):
        found = intervals.quantiles_and_means("10 spikes", curve, 10_000, rng)
        assert len(found) == 16
        assert np.mean(list(found.values())) > 0.7


def test_intervals_of_rare_values_cover_although_the_middles_are_off(study, rng):
    found = study("intervals").rare_values("128", "right", 1.0, rng)
    assert found["own"]
    assert found["population"]
    assert found["off"] > 0.001
    assert found["own, width"] > 0.5 / 128


def test_errors_of_exact_curves_are_none(study, rng):
    accuracy = study("accuracy")
    curves = np.cumsum(rng.poisson(3, (2, 64)), axis=1).astype(float)
    curves[:, -1] = n = 300
    np.testing.assert_allclose(accuracy.smoothed(curves[:, :], n), curves, atol=1e-6)


def test_fitted_models_are_likeliest_and_a_wrong_slope_is_rejected(study, rng):
    fitted = study("fitted_models")
    records = fitted.drawn(15, 2000, True, rng)
    np.testing.assert_allclose(fitted.other(1.0, records, rng), expit(records.logits))
    assert np.mean(records.logits) == pytest.approx(fitted.BASE)
    residuals = records.labels - fitted.released(0.0, records, rng)
    np.testing.assert_allclose(records.x.T @ residuals, 0, atol=1e-6)
    assert fitted.rejected(list(fitted.CASES)[-1], rng)["exact"]


@pytest.mark.full
def test_models_of_the_study_of_fits_draw_nothing_from_the_global_generator(study, rng):
    fitted = study("fitted_models")
    records = fitted.drawn(3, 500, False, rng)
    before = pickle.dumps(np.random.get_state(legacy=False))  # noqa: NPY002
    fitted.boosted(0.1, records, rng)
    fitted.penalised(1.0, records, rng)
    assert pickle.dumps(np.random.get_state(legacy=False)) == before  # noqa: NPY002


def test_what_is_far_apart_is_told_apart_in_the_study_of_comparisons(study, rng):
    pairs = study("compare").pairs
    for mechanism in ("default", "hierarchy"):
        apart = pairs("half at one", mechanism, 10.0, "1,000 and 1,000", 0.5, rng)
        width = apart.pop("width")
        assert apart == dict.fromkeys(apart, True)
        assert width >= 2.0  # a cell of each curve


def test_laws_of_the_study_of_tests_are_those_of_its_records(study, rng):
    tests, at = study("tests"), np.linspace(0, 1, 42)
    for shape in ("beta", "half at one", "three values"):
        drawn = np.sort(tests.records(shape, 200_000, rng))
        shares = np.searchsorted(drawn, at, side="right") / drawn.size
        np.testing.assert_allclose(shares, tests.law(shape, at), atol=0.006)
    values = rng.normal(size=(3, 50))
    expected = [stats.kstest(row, "norm").statistic for row in values]
    np.testing.assert_allclose(tests.kolmogorov_smirnov(values), expected)


# --- Hosmer-Lemeshow tests


@pytest.fixture
def hosmer_lemeshow(study):
    return study("hosmer_lemeshow")


@pytest.mark.needs_jit
def test_a_wrong_model_is_rejected_and_a_right_one_is_not(hosmer_lemeshow, monkeypatch, rng):
    monkeypatch.setattr(hosmer_lemeshow, "REPLICATES", 1)

    def share(model):
        found = [hosmer_lemeshow.rejections(model, np.inf, rng)["chi-squared"] for _ in range(12)]
        return np.mean(found)

    assert share(hosmer_lemeshow.RIGHT) < 0.4
    assert share(hosmer_lemeshow.OWN) < 0.4
    assert share(hosmer_lemeshow.WRONG) > 0.6


def test_labels_go_with_the_probabilities(hosmer_lemeshow, rng):
    labels, p = hosmer_lemeshow.drawn(hosmer_lemeshow.RIGHT, rng)
    assert abs(np.sum(labels - p)) < 6 * np.sqrt(np.sum(p * (1 - p)))
    steeper, _ = hosmer_lemeshow.drawn(hosmer_lemeshow.WRONG, rng)
    low = p < 0.1
    assert steeper[low].sum() < labels[low].sum()


@pytest.mark.needs_jit
def test_errors_of_the_statistic_shrink_with_the_noise(hosmer_lemeshow, monkeypatch, rng):
    monkeypatch.setattr(hosmer_lemeshow, "REPLICATES", 9)
    much, little = (hosmer_lemeshow.errors_of_fit("Bank", epsilon, rng) for epsilon in (0.05, 1e4))
    for way in hosmer_lemeshow.WAYS:
        assert abs(little[way]) < 0.5 * abs(much[way])


@pytest.mark.needs_jit
def test_scores_of_few_values_do_not_reject_a_right_model(hosmer_lemeshow, monkeypatch, rng):
    monkeypatch.setattr(hosmer_lemeshow, "REPLICATES", 19)
    found = [hosmer_lemeshow.discrete_scores("ten values", 500_000, 3.0, rng) for _ in range(6)]
    assert set(found[0]) == {"default", hosmer_lemeshow.COARSE}
    assert all(np.mean([test[grid] for test in found]) < 0.5 for grid in found[0])


@pytest.mark.parametrize("name", ["smooth", "spiky", "ten values", "rare"])
def test_shapes_are_probabilities(hosmer_lemeshow, name, rng):
    p = hosmer_lemeshow.SHAPES[name](5000, rng)
    assert p.shape == (5000,)
    assert np.all((p > 0) & (p < 1))
    if name == "spiky":
        assert 0.3 < np.isin(p, np.arange(1, 100) / 100).mean() < 0.7


# --- ROC curves


@pytest.fixture
def roc(study):
    return study("roc")


def test_areas_are_told_apart_by_their_spread(roc):

    def areas(spread, auc, rng):
        return {"area": auc + spread * rng.normal()}

    made = studies.Study(areas, {"spread": (1e-4, 0.02, 10.0), "auc": roc.AUCS})
    results = studies.run(made, replicates=20, seed=1)
    found = [roc.told_apart(results, spread=d).split()[0] for d in (1e-4, 0.02, 10.0)]
    assert found[0] == "0.025"
    assert float(found[1]) in (0.025, 0.05)
    assert found[2] == "none"


@pytest.mark.needs_jit
def test_thresholds_are_as_uneven_as_the_budget_makes_them(roc, rng):
    good, bad = (roc.thresholds("exponential", epsilon, rng) for epsilon in (10.0, 1e-4))
    assert good["first"] < 500 < bad["first"]
    assert good["uneven"] < 0.05 < bad["uneven"]


@pytest.mark.needs_jit
def test_ways_are_ordered_by_what_they_know(roc):
    mean = {
        way: np.mean(
            [
                roc.errors_of_curves(way, 0.2, np.random.default_rng(seed))["error"]
                for seed in range(15)
            ]
        )
        for way in (roc.PUBLISHED, roc.SIZES, roc.OURS)
    }
    assert mean[roc.OURS] < mean[roc.SIZES] / 2 < mean[roc.PUBLISHED] / 2


@pytest.fixture
def grids(study):
    return study("_score_grids")


def test_grids_are_measured_beside_their_records(grids, monkeypatch, rng):
    labels = np.arange(400) % 4 == 0
    scores = np.where(labels, 0.4, 0.2) + np.arange(400) / 1000
    positive, negative = scores[labels], scores[~labels]
    pairs = np.sign(positive[:, np.newaxis] - negative)
    true = grids.own(labels, scores)
    assert true[0].auc == pytest.approx((pairs.mean() + 1) / 2)
    in_bins = np.array_split(np.argsort(scores), np.searchsorted(np.sort(scores), [0.2, 0.3, 0.4]))
    assert 0 < true[1] < sum(abs((labels - scores)[some].sum()) for some in in_bins)
    for way in (None, (1024, "tree"), (1024, "default")):
        assert max(grids.off(true, grids.released(labels, scores, way, 1e4, rng))) < 0.02
    monkeypatch.setattr(grids, "population", lambda name: (labels, scores))
    monkeypatch.setattr(grids, "WAYS", (None, (16, "tree")))
    found = grids.errors_of_grids("Bank", 1000, rng)
    assert {errors.size for errors in found.values()} == {2 * len(grids.EPSILONS)}


def test_the_default_is_compared_with_the_best_grid(grids):
    ways, epsilons = len(grids.WAYS), len(grids.EPSILONS)

    def known(scores, n, rng):
        errors = np.full((ways, epsilons), 0.4)
        errors[0], errors[3] = 0.5, 0.2
        return dict.fromkeys(grids.MEASURES, errors.ravel())

    results = studies.run(replace(grids.errors_of_grids, function=known), replicates=2, seed=1)
    rows = grids.by_scores(results)[2:]
    assert len(rows) == len(grids.MEASURES) * len(grids.SCORES) * len(grids.SIZES)
    assert all(row.count("0.5000 (2.50)") == epsilons for row in rows)
    assert all(row.count("2.50 (2.00)") == epsilons for row in grids.summary(results)[2:])


def test_a_rare_class_is_a_twelfth_of_the_positives(grids):
    (labels, scores), (all_labels, _) = grids.population(grids.RARE), grids.population("Bank")
    assert labels.sum() == all_labels.sum() // 12
    assert (~labels).sum() == (~all_labels).sum()
    assert scores.mean() == pytest.approx(labels.mean(), rel=0.2)


def test_verdicts_name_where_half_is_missed(roc):
    assert roc.verdict([3.0] * 7).endswith("at every epsilon")
    assert roc.verdict([3.0] * 6 + [1.5]).endswith("but for epsilon = 2")


# --- residual plots


@pytest.mark.parametrize(("n", "epsilon"), [(300, 0.25), (2000, 1.0), (8000, 1.0)])
def test_the_first_of_its_ways_is_the_default(study, paper, n, epsilon):
    records = paper("_regression").drawn(n, np.random.default_rng(1))
    residuals = study("residuals")
    way = residuals.WAYS[residuals.DEFAULT]
    expected = dp.residual_plot(*records, epsilon=epsilon, rng=np.random.default_rng(2))
    found = way(records, epsilon, np.random.default_rng(2))
    np.testing.assert_array_equal(found, expected.points)


def test_cells_are_clipped_as_in_the_paper(study, paper, rng):
    choices = study("_residual_choices")
    records = paper("_regression").drawn(400, rng)
    ends, edges = [(0.0, 40.0), (-2.0, 2.0)], [np.linspace(0, 40, 5), np.linspace(-2, 2, 5)]
    expected = np.histogram2d(*records, edges)[0]
    assert 0 < expected.sum() < 400
    found = choices.clipped(records, ends, 4, Histogram(Fraction(50)), rng)
    np.testing.assert_array_equal(np.histogram2d(*found.T, edges)[0], expected)
    noisy = choices.clipped(records, ends, 40, Histogram(Fraction(1, 2)), rng)
    assert len(noisy) > 500  # noise that is cut at 0 adds points


def test_a_run_has_all_ways_and_known_bounds_are_better(study, rng):
    residuals = study("residuals")
    found = residuals.choices(n_epsilon=100, rng=rng)
    assert list(found) == list(residuals.WAYS)
    assert all(0.0 < each < 1.0 for each in found.values())
    assert found["bounds: where the records end, free"] < found["PriRP, as published"]


# --- clients and models of trust


@pytest.mark.needs_jit
def test_clients_of_one_record_lose_nothing_to_the_bound(study, rng):
    clients = study("clients")
    found = clients.bounded("one record each", "bound alone", 4000, rng)
    assert found["counting"] == [1.0] * len(clients.BOUNDS)
    assert found["share"] == [0.0] * len(clients.BOUNDS)
    assert max(found["area"]) < 1e-3  # of cells
    noisy = clients.bounded("one record each", "local, epsilon = 5", 4000, rng)
    assert noisy["area"][-1] > max(found["area"])


@pytest.mark.needs_jit
def test_clients_who_differ_are_missed_by_a_small_bound(study, rng):
    clients = study("clients")
    records = clients.drawn("dependent", rng, 4000)
    numbers = np.bincount(records.client_ids)
    expected = [np.minimum(numbers, c).sum() / numbers.sum() for c in clients.BOUNDS]
    assert [records.counting(c) for c in clients.BOUNDS] == pytest.approx(expected)
    found = clients.bounded("dependent", "bound alone", 4000, rng)
    assert found["share"][0] > 2 * found["share"][-1] > 0


@pytest.mark.needs_jit
def test_noise_has_the_errors_that_advice_counts_on(study, rng):
    experiments = study("_trust_experiments")
    settings = {"model": "distributed-noise", "epsilon": 1.0, "clients": 10**4, "height": 6}
    found = [experiments.constants(**settings, rng=rng) for _ in range(20)]
    assert set(found[0]) == {"recall", "area", "rate, 4", "rate, 8", "rate, 16"}
    assert 1 < np.mean([each["recall"] for each in found]) < 2  # 1.45 is taken
    errors = experiments.predicted("distributed-noise", 1.0, 10**6, "uniform", rng)
    assert set(errors) == set(experiments.PURPOSES)
    assert errors["auc"] < 0.001 < errors["calibration"] < 0.02


@pytest.mark.needs_jit
def test_areas_of_exact_counts_are_as_far_off_as_buckets_of_equal_depth(study, rng):
    experiments = study("_trust_experiments")
    found = experiments.areas("uniform", rng)
    expected = 1 / (3 * np.array(experiments.BUCKETS[:2]) ** 2.0)
    np.testing.assert_allclose(found["exact"][:2], expected, rtol=0.2)
    assert np.all(np.array(found["exact, corrected"]) < found["exact"][0])
    assert all(found["exact, covered, worst-case"])


# --- shared functions; a server's memory does not grow with n


@pytest.mark.full
def test_what_is_allocated_is_told_from_what_was_there_and_what_is_kept(study):
    there = bytearray(10**7)
    found = study("_server_memory").allocated(lambda: bytearray(len(bytearray(2 * 10**6)) // 2))
    assert 10**6 <= found.end < 1.1 * 10**6
    assert 2 * 10**6 < found.most < 3.3 * 10**6 < len(there)


@pytest.mark.full
def test_memory_of_sums_over_a_file_does_not_grow(study, rng):
    of_arrays = study("_function_costs").of_arrays
    few, many = (of_arrays(clients, 50, 8, 5, rng) for clients in (100, 1000))
    assert few > 50 * comparison.key_bytes(8)
    assert many - few < 100 * comparison.key_bytes(8)  # of 900 more keys


@pytest.mark.full
def test_memory_of_a_server_grows_by_ids_alone(study, rng):
    of_server = study("_function_costs").of_server
    few, many = (of_server(clients, 50, 16, rng) for clients in (100, 1000))
    ids, keys = many.ids - few.ids, 900 * comparison.key_bytes(4)
    assert ids > 900 * 16
    assert many.end - few.end - ids < keys / 2  # sets of ids have room to spare


@pytest.mark.full
def test_a_server_of_shares_forgets_those_that_it_has_settled(study, rng):
    found = study("_server_memory").memory(200, 100, 50, 64, rng)
    assert found.share > 8 * found.nodes > found.seed > 48
    assert found.most > 50 * 8 * found.nodes > found.settled > 200 * 16


def test_errors_are_those_of_the_law(study):
    functions = study("functions")
    model = functions.MODELS["3 servers, 1 honest"]
    found = functions.deviations(model, 64)
    np.testing.assert_array_equal(found["whole"], model.noise_deviation(64))
    expected = prefix_deviation(model.tree(64), model.shares(64), 3)
    np.testing.assert_allclose(found["pointwise"], expected)
    assert [*functions.deviations(functions.MODELS["curator"], 64)] == ["whole"]


@pytest.mark.needs_jit
@pytest.mark.parametrize("model", ["2 servers, 1 honest", "distributed noise"])
def test_quantiles_are_as_far_off_as_counts(study, model, rng):
    """The axis is in shares of the records, which are spread evenly."""
    functions = study("functions")
    model = functions.MODELS[model]
    found = [functions.quantiles(model, 64, rng) for _ in range(100)]
    for kind, of_counts in functions.deviations(model, 64).items():
        ratio = np.mean(np.square([each[kind] for each in found])) / np.mean(of_counts**2)
        assert 0.7 < np.sqrt(ratio) < 1.5


@pytest.mark.needs_jit
def test_tables_of_errors_have_all_models_and_nothing_pointwise_of_a_curator(study):
    functions = study("functions")
    chosen = {name: functions.MODELS[name] for name in ("curator", "2 servers, 1 honest")}
    small = functions.quantiles.over(model=chosen, size=[16, 64])
    results = studies.run(small, replicates=2, seed=1, workers=1)
    counts, quantiles = (part for part in functions.errors(results) if isinstance(part, list))
    for table in (counts, quantiles):
        head, _, curator, servers = ([cell.strip() for cell in s.split("|")[1:-1]] for s in table)
        sizes = [f"N = {size}, {kind}" for size in (16, 64) for kind in functions.KINDS]
        assert head == ["model", *sizes]
        assert [cell == "" for cell in curator] == [False, False, True, False, True]
        assert all(float(cell) > 0 for cell in [*curator[1::2], *servers[1:]])
    law = functions.deviations(chosen["curator"], 64)["whole"]
    assert counts[2].endswith(f"|  | {np.sqrt(np.mean(law**2)):.1f} |  |")


@pytest.mark.parametrize("servers", [2, 3])
def test_what_a_client_sends(study, servers, rng):
    found = study("_function_costs").of_client(FunctionSharing(1.0, servers), 64, 3, 4, rng)
    assert len(found.sent) == servers
    assert all(each > 0 for each in found[:4])
    if servers == 2:
        assert found.sent[0] - comparison.key_bytes(6) == found.sent[1] - comparison.key_bytes(6)
    else:
        assert found.sent[2] - found.sent[0] == 64 * 8 - 32


@pytest.mark.needs_jit
@pytest.mark.parametrize("scores", ["two normals", "rare class", "20 values", "near 0 and 1"])
def test_errors_of_rivals_are_those_of_their_own_curves(study, scores, rng):
    rivals = study("_rival_scores")
    labels, of = rivals.drawn(scores, 5000, rng)
    assert 0 <= of.min() <= of.max() <= 1
    true = rivals.own(labels, of)[0]
    assert rivals.off(true, true) == (0.0, 0.0, 0.0)
    found = rivals.errors_of_rocs(scores, 5000, rng)
    shape = len(rivals.WAYS), len(rivals.EPSILONS) + 1
    area, largest, auc = (found[name].reshape(shape) for name in rivals.MEASURES)
    assert np.all(auc <= area + 1e-12)
    assert np.all(area <= 1)
    assert np.all(largest <= 1)
    assert area[0, -1] < area[-1, -1] < area[-2, -1] < area[-3, -1]  # exact sums: more quantiles


@pytest.mark.needs_jit
def test_errors_of_matching_pursuit_fall_with_the_budget(study, rng):
    rivals = study("_rival_curves")
    found = [rivals.errors_of_curves("beta(2, 5)", 100_000, rng) for _ in range(2)]
    shape = len(rivals.WAYS), len(rivals.EPSILONS)
    rms, largest = (
        np.mean([each[name].reshape(shape) for each in found], axis=0) for name in rivals.MEASURES
    )
    assert np.all(rms <= largest)
    assert np.all(rms[:, 0] > rms[:, -1])
    assert rivals.probabilities("beta(2, 5)").sum() == pytest.approx(1)


@pytest.mark.needs_jit
def test_cubics_help_most_where_cells_are_coarse_and_records_smooth(study, rng):
    cubics = study("_rival_cubics")
    found = cubics.errors_of_deciles("beta(2, 5)", "10^6", rng)
    ratios = found["cubic"] / found["linear"]
    assert ratios[0] < 0.4
    assert ratios[0] < ratios[-1]
    assert np.all(np.diff(found["linear"][:3]) < 0)  # noise alone is left in the finest cells
