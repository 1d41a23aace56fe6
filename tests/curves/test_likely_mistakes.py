"""Warnings of likely mistakes: each of them, what does not warn, and how often."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, NoNoise
from dpcore.papers.priroc import score_curves_at_medians
from dpcore.releases.hosmer_lemeshow import arcsine_grid
from dpcore.trust import Central, Local
from dpcore.trust.protocol.clients import Client
from dpcore.trust.protocol.curves import release, release_scores
from dpcore.trust.protocol.parameters import Protocol
from dpcore.trust.protocol.servers import Server
from tests.curves.told_mistakes import told

N = 20_000
RNG = np.random.default_rng
IS_POSITIVE = RNG(1).random(N) < 0.3
LOGITS = RNG(2).normal(np.where(IS_POSITIVE, 1.5, -1.5), 1.5)
SCORES = 1 / (1 + np.exp(-LOGITS))
YES_NO = np.where(IS_POSITIVE, "yes", "no")
AMOUNTS = RNG(3).gamma(3.0, 10.0, N)
MONEY = dp.Grid.uniform(0, 100, 500)


def told_of_scores(labels, scores, *arguments, epsilon=1.0, **options):
    options = {"rng": RNG(4), **options}
    if not ("mechanism" in options or arguments):
        options["epsilon"] = epsilon
    return told(dp.roc_curve, labels, scores, *arguments, **options)


# --- labels


@pytest.mark.parametrize(
    ("labels", "scores", "options"),
    [
        (YES_NO, SCORES, {"pos_label": "Yes"}),
        (YES_NO, SCORES, {"pos_label": "1"}),
        (SCORES, IS_POSITIVE.astype(float), {}),  # the wrong way round
        (np.where(IS_POSITIVE, 2, 0), SCORES, {}),
        (np.ones(N), SCORES, {}),  # no negatives
    ],
)
@pytest.mark.parametrize("mechanism", [Hierarchy(1.0), (Hierarchy(0.5), Hierarchy(0.5)), NoNoise()])
def test_a_class_of_nobody(labels, scores, options, mechanism):
    text = told_of_scores(labels, scores, mechanism=mechanism, **options)
    name = "negatives" if np.all(labels == 1.0) else "positives"
    label = options.get("pos_label", 1)
    assert f"number of {name} is within its noise of 0: is pos_label ({label!r})" in text


def test_the_number_is_told_unless_a_study_would_print_it_a_million_times():
    text = told(dp.score_curves, YES_NO, SCORES, mechanism=Hierarchy(1e6), pos_label="Yes")
    assert text.startswith("the released number of positives, 0, is within its noise of 0")
    texts = {
        told_of_scores(YES_NO, SCORES, pos_label="Yes", rng=child) for child in RNG(5).spawn(9)
    }
    assert len(texts) == 1


def test_labels_that_are_the_other_way_round():
    for labels, scores in ((IS_POSITIVE + 1, SCORES), (IS_POSITIVE, 1 - SCORES)):
        text = told_of_scores(labels, scores)
        assert "area under the ROC curve is 0.0" in text
        assert "pos_label (1)" in text


def test_a_small_class_beside_its_noise():
    labels = np.arange(N) % 160 == 0  # 125 of them
    text = told_of_scores(labels, SCORES)
    assert "the standard error of the curve of positives is up to 0." in text


# --- grids


@pytest.mark.parametrize("mechanism", [Hierarchy(1.0), (Hierarchy(1.0), Hierarchy(1.0)), Dawa(1.0)])
def test_scores_beyond_their_grid(mechanism):
    text = told_of_scores(IS_POSITIVE, LOGITS, mechanism=mechanism)
    assert "of the positives are in the first cell of <Grid of 86 thresholds" in text
    for scores in (300 + 550 * SCORES, SCORES - 1):
        text = told_of_scores(IS_POSITIVE, scores, mechanism=mechanism)
        assert "100 % of the positives" in text or "99 % of the positives" in text


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        (1000 * AMOUNTS + 1000, "0 % of the records are in the first cell"),
        (AMOUNTS / 1e6, "100 % of the records are in the first cell"),
        (AMOUNTS + 75, "% in its last: is it the grid for these values?"),
        (5000 * RNG(6).normal(size=N), "49 % in its last"),
        (60 * RNG(6).exponential(1.2, N), "25 % of the records are in the last cell"),  # seconds
    ],
)
def test_values_beyond_their_grid(values, words, neighbours):
    options = {"epsilon": 1.0, "neighbours": neighbours, "rng": RNG(4)}
    assert words in told(dp.cdf, values, MONEY, **options)


def test_more_noise_than_curve():
    text = told(dp.cdf, AMOUNTS[:60], MONEY, epsilon=0.5, rng=RNG(4))
    assert text.startswith("the standard error of F is up to 0.")
    text = told_of_scores(IS_POSITIVE[:200], SCORES[:200], mechanism=Hierarchy(0.1))
    assert text.startswith("the standard error of the curves is up to 0.4 of all records")


# --- what is no mistake


QUIET = {
    "half of the incomes are 0": (np.where(np.arange(N) % 2, 0, AMOUNTS), MONEY),
    "nine tenths are 0": (np.where(np.arange(N) % 10, 0, AMOUNTS), MONEY),
    "two fifths are the most there is": (np.where(np.arange(N) % 5 < 2, 100, AMOUNTS), MONEY),
    "most are near the top": (100 * RNG(6).beta(8, 1, N), dp.Grid.uniform(0, 100, 20)),
    "a last cell for the rest": (4 * AMOUNTS, dp.Grid(np.r_[np.arange(10, 201, 10), 1e6])),
    "half on each side of a logarithmic grid": (AMOUNTS, dp.Grid.log(1, 1000, 64)),
    "five stars": (np.r_[np.full(700, 5), np.full(300, 1)], dp.Grid(np.arange(1, 6))),
    "one cell": (AMOUNTS, dp.Grid([1.0])),
    "probabilities": (SCORES, arcsine_grid()),
}


@pytest.mark.parametrize("mechanism", [Hierarchy(1.0), Dawa(1.0), NoNoise()])
@pytest.mark.parametrize("case", QUIET)
def test_legitimate_curves(case, mechanism):
    assert told(dp.cdf, *QUIET[case], mechanism, rng=RNG(4)) is None


@pytest.mark.parametrize("mechanism", [Hierarchy(1.0), (Hierarchy(1.0), Hierarchy(1.0)), NoNoise()])
@pytest.mark.parametrize(
    ("labels", "scores", "grid"),
    [
        (IS_POSITIVE, SCORES, None),
        (IS_POSITIVE, SCORES, arcsine_grid()),
        (IS_POSITIVE, LOGITS, dp.Grid.uniform(-8, 8, 256)),
        (IS_POSITIVE, SCORES, dp.Grid.uniform(0, 1, 4)),
        (IS_POSITIVE, SCORES[::-1], None),  # guessing
        (IS_POSITIVE, np.where(IS_POSITIVE, 1.0, 0.0), None),  # all of them right
        (np.arange(N) % 20 == 0, np.where(np.arange(N) % 20, SCORES**9, SCORES), None),
    ],
)
def test_legitimate_scores(labels, scores, grid, mechanism):
    assert told_of_scores(labels, scores, grid=grid, mechanism=mechanism) is None


def test_guessing_hardly_ever_warns():
    few = RNG(7).random(400) < 0.5
    texts = [
        told_of_scores(few, child.random(400), mechanism=mechanism)
        for mechanism in (NoNoise(), Hierarchy(20.0))
        for child in RNG(8).spawn(50)
    ]
    assert texts.count(None) >= 98


def test_an_area_is_told_without_a_sign():
    wrong = np.where(IS_POSITIVE, 0.1, 0.9)
    texts = [
        told_of_scores(IS_POSITIVE, wrong, mechanism=Hierarchy(1.0), rng=RNG(seed))
        for seed in range(9)
    ]
    assert {text[:47] for text in texts} == {"the released area under the ROC curve is 0.00, "}


def test_released_numbers_of_unknown_noise_are_taken_as_they_are():
    assert told_of_scores(IS_POSITIVE, SCORES, mechanism=Dawa(1.0)) is None
    assert "within its noise of 0" in told_of_scores(np.zeros(N), SCORES, mechanism=Dawa(1e6))


@pytest.mark.needs_jit  # interpreted, they warn where sums wrap
@pytest.mark.parametrize("n", [5, 200, 20_000])
def test_categories_that_no_record_is_in(n):
    answers, how = np.resize(["yes", "no"], n), {"epsilon": 1.0, "rng": RNG(5)}
    assert told(dp.counts, answers, ["yes", "No"], **how) is None
    assert told(dp.counts, answers, ["Yes", "No"], neighbours="add-or-remove-one", **how) is None
    text = told(dp.counts, answers, ["Yes", "No"], **how)
    if n == 5:
        assert text is None
    else:
        assert text.startswith("the released number of records in all categories is within")
        assert text.endswith("do records have labels such as 'Yes'?")


# --- where it is said


CLIENTS = np.arange(N)
TRUST = Central(1.0)


def reported(cells, size):
    """The sums of a round of a hundred clients, one for each cell."""
    protocol = Protocol(Local(epsilon=1.0, clients=100), size, bytes(16))
    server = Server(protocol)
    for cell in cells:
        server.add(Client(protocol).report(int(cell))[0])
    return server.close()


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "release",
    [
        lambda: dp.cdf(AMOUNTS[:9], MONEY, epsilon=0.1),
        lambda: dp.cdf_from_counts(MONEY.count(AMOUNTS[:9]), MONEY, epsilon=0.1),
        lambda: dp.score_curves(YES_NO, SCORES, epsilon=1.0, pos_label="Yes", rng=RNG(4)),
        lambda: dp.score_curves_from_counts(
            dp.score_counts(np.zeros(N), SCORES, MONEY), MONEY, epsilon=1.0, rng=RNG(4)
        ),
        lambda: dp.roc_curve(YES_NO, SCORES, epsilon=1.0, pos_label="Yes", rng=RNG(4)),
        lambda: dp.hosmer_lemeshow(IS_POSITIVE[:300], SCORES[:300], epsilon=0.2, rng=RNG(4)),
        lambda: score_curves_at_medians(
            IS_POSITIVE, 1 - SCORES, epsilon=1.0, counter="hb", depth=4, rng=RNG(4)
        ),
        lambda: dp.trust.client_cdf(
            CLIENTS[:99], AMOUNTS[:99], MONEY, TRUST, clients=N, rng=RNG(4)
        ),
        lambda: dp.trust.client_score_curves(
            CLIENTS, np.zeros(N), SCORES, MONEY, TRUST, clients=N, rng=RNG(4)
        ),
        lambda: release(reported(np.arange(100), 128)),
        lambda: release_scores(reported(np.arange(100), 128), dp.Grid.uniform(0, 1, 64)),
    ],
)
def test_one_warning_at_the_line_of_the_caller(release):
    with pytest.warns(dp.DpcoreWarning) as caught:
        release()
    assert [warning.filename for warning in caught] == [__file__]


def test_warnings_point_to_files_whose_path_begins_as_that_of_the_package():
    beside = f"{Path(dp.__file__).parent}_study.py"
    code = compile("dp.cdf(values, grid, epsilon=0.01)", beside, "exec")
    with pytest.warns(dp.DpcoreWarning) as caught:
        exec(code, {"dp": dp, "values": np.ones(10), "grid": dp.Grid.uniform(0, 1, 64)})
    assert [warning.filename for warning in caught] == [beside]


def test_simulations_of_a_release_do_not_warn_again():
    pair = Hierarchy(0.05), Hierarchy(0.05)
    options = {"mechanism": pair, "rng": RNG(4)}
    with pytest.warns(dp.DpcoreWarning) as found:
        test = dp.hosmer_lemeshow(IS_POSITIVE[:500], SCORES[:500], **options)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", dp.DpcoreWarning)
        assert test.under_noise(9).null.size == 9


# --- records at the lower end


SPIKES = {
    "31 % zeros": lambda rng: np.where(rng.random(N) < 0.31, 0.0, rng.uniform(0, 60, N)),
    "15 % below": lambda rng: np.where(rng.random(N) < 0.15, -5.0, rng.gamma(3, 5, N)),
    "counts": lambda rng: rng.geometric(0.3, N) - 1,
}
ORDINARY = {
    "uniform": lambda rng: rng.uniform(0, 60, N),
    "narrow": lambda rng: rng.uniform(0, 10, N),
    "exponential": lambda rng: rng.exponential(1, N),
    "slow": lambda rng: rng.exponential(8, N),
    "half-normal": lambda rng: np.abs(rng.normal(0, 2, N)),
    "gamma": lambda rng: rng.gamma(0.7, 5, N),
    "log-normal": lambda rng: rng.lognormal(0, 1, N),
    "Poisson": lambda rng: rng.poisson(4, N),
}


@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("shape", SPIKES)
def test_many_records_at_the_lower_end_or_below(shape, integers):
    values = SPIKES[shape](RNG(1))
    how = {"epsilon": 1.0, "rng": RNG(4), "integers": integers}
    text = told(dp.cdf, values, dp.Grid.uniform(0, 60, 60), **how)
    assert "are in the first cell of Grid.uniform(0.0, 60.0, 60), which also holds those" in text
    assert "Grid.integers(0, 60)" in text
    assert told(dp.cdf, values, dp.Grid.integers(0, 60), **how) is None
    assert told(dp.cdf, values, dp.Grid(range(61), lower=0), **how) is None
    assert told(dp.cdf, values, dp.Grid.uniform(0, 60, 4096), **how) is None  # as good as exact


def test_many_records_on_the_first_day():
    days = np.datetime64("2024-01-01") + SPIKES["counts"](RNG(1)).astype("m8[D]")
    grid = dp.Grid.uniform("2024-01-01", "2024-03-01", 60)
    text = told(dp.cdf, days, grid, epsilon=1.0, rng=RNG(4))
    assert "Grid.days('2024-01-01', '2024-03-01') for whole days, or a threshold at 2024-" in text
    assert told(dp.cdf, days, dp.Grid.days("2024-01-01", "2024-03-01"), epsilon=1.0) is None


@pytest.mark.parametrize("epsilon", [1.0, 0.05])
@pytest.mark.parametrize("shape", ORDINARY)
def test_ordinary_shapes_do_not_look_like_that(shape, epsilon):
    for rng in RNG(5).spawn(5):
        values = ORDINARY[shape](rng)
        how = {"epsilon": epsilon, "rng": rng, "integers": False}
        assert told(dp.cdf, values, dp.Grid.uniform(0, 60, 60), **how) is None


def test_whole_numbers_are_not_named_where_few_are_between_the_ends():
    values = np.where(RNG(1).random(N) < 0.3, 0.0, RNG(2).random(N))
    text = told(dp.cdf, values, dp.Grid.uniform(0, 1, 50), epsilon=1.0, rng=RNG(4))
    assert "second: a threshold at 0 tells them apart" in text


@pytest.mark.parametrize("grid", [dp.Grid.uniform(-1, 60, 61), dp.Grid.uniform(0, 60, 60)])
@pytest.mark.parametrize("said", [True, None])
def test_two_whole_numbers_in_the_first_cell_alone(grid, said):
    values = RNG(1).binomial(60, 0.05, 20_000) + 1 + int(grid.start)  # 5 to 20 % at the first
    values[:1500] = grid.thresholds[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        curve = dp.cdf(values.tolist(), grid, epsilon=1.0, integers=said, rng=RNG(1))
    texts = [str(each.message) for each in caught]
    assert len(texts) == (said is True)
    assert all(f"Grid.integers({grid.start:.0f}, 60) for whole numbers" in text for text in texts)
    assert (curve.quantile(0.01) == grid.start) == (said is True)


def test_few_records_in_a_first_cell_of_two_whole_numbers_are_no_mistake():
    ages, grid = RNG(1).integers(18, 90, 20_000), dp.Grid.uniform(0, 120, 120)
    dp.cdf(ages, grid, epsilon=1.0, rng=RNG(1))
    far = dp.Grid([-1.7e308, *range(16), 1.7e308], lower=-1.79e308)
    with pytest.warns(dp.DpcoreWarning):
        dp.cdf(ages, far, epsilon=1.0, rng=RNG(1), integers=True)
