"""Reports: whole, escaped, the same each time, without scripts, and of releases alone.

No browser is needed: the page is parsed as HTML, and its pictures as XML.
"""

from __future__ import annotations

import base64
import html
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import dpcore as dp
from dpcore import _load, statistics
from dpcore.curves.stored import header
from dpcore.reports.words import guarantee
from dpcore.statistics import reliability

N = 800
DAY = np.timedelta64(1, "D")
EVIL = "<script>alert('x')</script> & \"$a_b$\""
VOID = {"meta", "img"}
DATA = "data:image/svg+xml;base64,"


def made():
    rng = np.random.default_rng(1)
    values, scores = rng.normal(40, 12, N), rng.beta(2, 4, N)
    labels, by = rng.random(N) < scores, rng.integers(0, 2, N)
    grid, given = dp.Grid.uniform(0, 120, 60), {"epsilon": 1.0, "rng": rng}
    curve, other = (dp.cdf(values, grid, **given) for _ in range(2))
    roc = dp.roc_curve(labels, scores, dp.Grid.uniform(0, 1, 16), **given)
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, N)
    years, kinds = rng.exponential(5.0, N), rng.integers(0, 3, N)
    lives = [dp.survival(years, kinds > 0, dp.Grid.uniform(0, 8, 32), **given) for _ in range(2)]
    return {
        "curve": curve,
        "curve of days": dp.cdf(days, dp.Grid.days("2024-01-01", "2024-12-31"), **given),
        EVIL: dp.cdf(values, grid, by=by, groups=[0, 1], **given),
        "roc": roc,
        "roc by groups": dp.roc_curve(
            labels, scores, dp.Grid.uniform(0, 1, 16), by=by, groups=[0, 1], **given
        ),
        "scores": roc.curves,
        "reliability": reliability(roc.curves),
        "hosmer-lemeshow": dp.hosmer_lemeshow(labels, scores, **given),
        "comparison": dp.compare(curve, other, simulations=19),
        "test": dp.goodness_of_fit(curve, lambda t: t / 120, simulations=19),
        "pairs": dp.pairwise_tests({"a": curve, "b": other}, simulations=19),
        "quantiles": dp.quantiles(values, [0.1, 0.5], grid, **given),
        "bounds": dp.bounds(values, **given),
        "box plot": dp.box_plot(values, grid, **given),
        "count": dp.count(values, **given),
        "counts": dp.counts(labels, [False, True], **given),
        "mean": dp.mean(values, (0, 100), **given),
        "classes": dp.classwise_calibration(
            labels, np.c_[1 - scores, scores], [False, True], **given
        ),
        "table": dp.table(values, scores, dp.TableGrid.uniform((0, 120), (0, 1), (4, 4)), **given),
        "projection": dp.project(values, 0, 120, rho=0.5, rng=rng),
        "plan": dp.plan(100, epsilon=1.0),
        "suggestion": dp.suggest(n=1000, lower=0, upper=1, epsilon=1.0, error=0.05),
        "advice": dp.trust.advise(1000, 1.0, model="local"),
        "survival": lives[0],
        "survival in days": dp.survival(
            30 * years * DAY, kinds > 0, dp.Grid.uniform(DAY * 0, DAY * 240, 30), **given
        ),
        "survival scores": dp.survival_scores(
            years, kinds > 0, scores, dp.Grid.uniform(0, 8, 8), (0, 1), **given
        ),
        "incidences": dp.cumulative_incidence(
            years, kinds, dp.Grid.uniform(0, 8, 32), [1, 2], **given
        ),
        "survival by groups": dp.survival(
            years, kinds > 0, dp.Grid.uniform(0, 8, 32), by=by, groups=[0, 1], **given
        ),
        "incidences by groups": dp.cumulative_incidence(
            years, kinds, dp.Grid.uniform(0, 8, 32), [1, 2], by=by, groups=[0, 1], **given
        ),
        "residual plot": dp.residual_plot(scores, labels - scores, epsilon=5.0, rng=rng),
        "binormal": statistics.BinormalROC(0.8, N, dp.Privacy(1.0), {"name": "smooth-auc"}),
        "buckets": statistics.ScoreHistogram.uniform(roc.curves, 4),
        "scores by groups": dp.score_curves(
            labels, scores, dp.Grid.uniform(0, 1, 16), by=by, groups=[0, 1], **given
        ),
        "sum": dp.trust.vector_sum(
            by, dp.trust.functions.Groups([0, 1]), dp.trust.Central(1.0), rng=rng
        ),
        "log-rank": dp.log_rank_test(*lives, simulations=19),
        "restricted means": dp.restricted_mean_difference(*lives, 5.0),
    }


RESULTS = made()
IN_A_LINE = {"scores", "pairs", "reliability", "table", "residual plot", "buckets"}


class Page(HTMLParser):
    """The elements of a page; an element that is not closed is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.found if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def budgeted():
    budget = dp.Budget(epsilon=3.0)
    budget.charge(dp.Privacy(0.25), EVIL)
    return budget


@pytest.fixture(scope="module")
def page():
    return Page(dp.report(RESULTS, title=EVIL, budget=budgeted()))


def test_all_results_are_there_with_pictures_and_tables(page):
    assert len(page.of("section")) == len(RESULTS) + 2  # the budget, and versions
    plotted = [name for name, result in RESULTS.items() if hasattr(result, "plot")]
    assert [image["alt"] for image in page.of("img")] == [f"Picture of {n}" for n in plotted]
    assert page.text.count("Public choices") == len(RESULTS)
    for wanted in (
        "Grid.uniform(0.0, 120.0, 60)",
        "quantile 0.25",
        "mean of the population",
        "p-value",
    ):
        assert wanted in page.text
    assert dp.__version__ in page.text


def test_every_kind_of_stored_result_is_looked_at():
    assert {header(type(result))["format"] for result in RESULTS.values()} == {*_load._HOMES}


def test_numbers_are_those_of_the_results(page):
    low, high = RESULTS["count"].interval()
    assert f"records {RESULTS['count'].value:,} {low:,} {high:,}" in page.text
    low, high = RESULTS["roc"].auc_interval(0.95)
    assert f"area, of the records {RESULTS['roc'].auc:.4g} {low:.4g} {high:.4g}" in page.text
    other = Page(dp.report(RESULTS["mean"], level=0.5))
    low, high = RESULTS["mean"].interval(0.5)
    assert f"{RESULTS['mean'].value:.4g} {low:.4g} {high:.4g}" in other.text
    assert "50% intervals" in other.text


def test_nothing_runs_and_nothing_is_fetched(page):
    tags = {tag for tag, _ in page.found}
    assert tags.isdisjoint({"script", "link", "iframe", "object", "embed", "base", "form", "svg"})
    for _, attributes in page.found:
        assert not [name for name in attributes if name.startswith("on") or name == "href"]
        assert attributes.get("src", DATA).startswith(DATA)
    (policy,) = [each["content"] for each in page.of("meta") if "http-equiv" in each]
    assert policy.startswith("default-src 'none'")
    assert page.text.count(EVIL) == 4  # the titles, a result, and a charge
    for image in page.of("img"):
        drawn = base64.b64decode(image["src"].partition(",")[2])
        root = ElementTree.fromstring(drawn)
        assert root.tag.endswith("svg")
        assert b"<script" not in drawn
        for element in root.iter():
            links = [value for name, value in element.attrib.items() if name.endswith("href")]
            assert all(link.startswith(("#", "data:")) for link in links)


@pytest.mark.parametrize("name", RESULTS)
def test_notebooks_show_every_result(name):
    shown = RESULTS[name]._repr_html_()
    ElementTree.fromstring(shown)  # it is whole
    assert len(shown) < 30_000
    assert "<table>" in shown or "<svg" in shown or name in IN_A_LINE
    if "<svg" not in shown:
        assert html.escape(repr(RESULTS[name])[:100]) in shown


def test_long_columns_are_cut_and_the_caption_says_so():
    of = dp.trust.functions.Groups(range(101))
    found = dp.trust.vector_sum(np.arange(100), of, dp.trust.Central(1.0))
    assert "Values (the first 12 of 100)" in found._repr_html_()
    assert "(the first 60 of 100)" in dp.report(found)


def test_it_is_read_on_narrow_screens_and_on_paper(page):
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.of("meta")
    style = "".join(page.texts)
    assert "@media print" in style
    assert re.search(r"img \{[^}]*max-width: 100%", style)
    tables = len(page.of("table"))
    assert tables == len([each for each in page.of("div") if each.get("class") == "wide"])
    assert re.search(r"\.wide \{[^}]*overflow-x: auto", style)


def test_the_same_arguments_give_the_same_bytes_and_the_file_has_them(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    some, path = {name: RESULTS[name] for name in ("curve", "roc", "table")}, tmp_path / "a.html"
    before = pyplot.get_fignums()
    first = dp.report(some, path)
    with pyplot.rc_context({"font.size": 20, "svg.fonttype": "none"}):
        assert dp.report(some) == first
    assert path.read_text("utf-8") == first
    assert pyplot.get_fignums() == before
    assert dp.report([*some.values()]).count("<h2>1. CDF</h2>") == 1


def test_simulated_releases_are_told_loudly_and_real_ones_are_not():
    real = dp.count([1] * 50, epsilon=1.0)
    assert "SIMULATED" not in dp.report(real)
    told = Page(dp.report(RESULTS["count"]))
    assert {"class": "guarantee simulated"} in told.of("p")


CURVES = dp.score_curves(
    [0, 1] * 9, [0.2, 0.7] * 9, dp.Grid.uniform(0, 1, 4), dp.mechanisms.NoNoise()
)


@pytest.mark.parametrize(
    "wrong",
    [
        np.arange(3.0),
        3.5,
        "text",
        [],
        {},
        {"a": 1.0},
        {1: RESULTS["count"]},
        [RESULTS["count"], np.arange(3)],
        dp.cdf([1.0, 2.0], dp.Grid([1.0, 2.0]), dp.mechanisms.NoNoise()),
        dp.statistics.ROC.from_curves(CURVES),
        reliability(CURVES, 2),
        RESULTS["reliability"].bins,  # a part, which does not say what it cost
    ],
)
def test_true_values_and_other_things_are_refused(wrong, tmp_path):
    with pytest.raises(dp.DpcoreError, match="results"):
        dp.report(wrong, tmp_path / "a.html")
    assert not [*tmp_path.iterdir()]


def test_other_arguments_are_checked():
    for given in ({"title": 3}, {"budget": 1.0}, {"level": 1.0}, {"path": 3}):
        with pytest.raises(dp.DpcoreError, match=next(iter(given))):
            dp.report(RESULTS["count"], **given)


@pytest.mark.parametrize(
    ("privacy", "said"),
    [
        (dp.Privacy(1.0), "e^1 = 2.72 times as likely."),
        (dp.Privacy(1.0, 1e-6), "plus a probability of 1e-06"),
        (dp.Privacy(2.0, neighbours="add-or-remove-one"), "one record is added or removed"),
        (dp.Privacy(rho=0.5), "epsilon = 5.22 with delta = 1e-06"),
        (dp.Privacy(rho=0.5, delta=1e-3), "with delta = 0.002"),
        (dp.Privacy(1000.0), "e^1e+03"),
        (dp.Privacy(1.0, simulated=True), "It protects nobody."),
    ],
)
def test_guarantees_in_words(privacy, said):
    assert said in guarantee(privacy)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_an_epsilon_is_told_where_its_noise_has_a_rho_too(delta):
    assert guarantee(dp.Privacy(1.0, delta, rho=0.03)) == guarantee(dp.Privacy(1.0, delta))


def test_names_of_half_a_surrogate_pair_are_written(tmp_path):
    released, page = dp.count([1, 2], epsilon=1.0), tmp_path / "page.html"
    text = dp.report({"caf\udce9": released}, page, title="\ud800")
    assert page.read_text("utf-8") == text
    assert "<h1>\\ud800</h1>" in text
    assert "<h2>caf\\udce9</h2>" in text
