"""Shared by ROC figures of the regression-diagnostics paper: scores, releases, exact curves.

Chen, Machanavajjhala, Reiter & Barrientos, *Differentially private regression diagnostics* (2016),
section IV.
"""

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm, ttest_ind

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Dawa
from dpcore.papers.medians import recursive_medians
from dpcore.papers.smooth_roc_curve import smooth_roc_curve
from dpcore.statistics.between_curves import Rates, symmetric_difference

from ._data import Scored
from ._figure import BLUE, GREEN, GREY, VERMILION, Made, Outcome, panels, verdict
from ._files import data_file
from ._published_dawa import published_dawa, shares_up_to
from ._regression import THEIR_DAWA, quietly

__all__ = [
    "CHECKED",
    "DATA",
    "FPRS",
    "GENEROUS",
    "OTHER_STAGE",
    "STYLES",
    "WAYS",
    "Way",
    "area",
    "binormal",
    "by_epsilon",
    "errors",
    "exact",
    "p_value",
    "released_curves",
]

Values = NDArray[np.float64]
Rng = np.random.Generator
THRESHOLDS, CANDIDATES, SHARE = 2**10, 2**15, 0.2  # of PriROC
FPRS = np.linspace(0, 1, 101)  # where curves are drawn


class Points(NamedTuple):
    """Points of a curve."""

    fpr: Values
    tpr: Values


# --- scores


@functools.cache
def sms() -> Scored:
    """Return the tenth of the SMS messages that a spam filter was not fitted to; 1 is no spam."""
    file = data_file("SMSSpamCollection")
    if file is None:
        return _skewed(558, 481, 0.98, "synthetic, in place of SMS")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline

    lines = file.read_text("utf-8").splitlines()
    labels = np.array([line.startswith("ham\t") for line in lines])
    texts = [line.partition("\t")[2] for line in lines]
    split = train_test_split(texts, labels, test_size=0.1, random_state=1)
    words = CountVectorizer(binary=True, stop_words="english")
    model = make_pipeline(words, LogisticRegression(max_iter=1000)).fit(split[0], split[2])
    return Scored(
        split[3], model.predict_proba(split[1])[:, 1], "UCI SMS Spam, the tenth for tests"
    )


@functools.cache
def tweets() -> Scored:
    """Return as many records, and positives, as TWITTER has, because we do not have its data."""
    return _skewed(684, 385, 0.78, "synthetic, in place of TWITTER")


def _skewed(n: int, positives: int, auc: float, name: str) -> Scored:
    """Return probabilities of records whose scores are normal in both classes."""
    labels, distance = np.arange(n) < positives, np.sqrt(2.0) * norm.ppf(auc)
    x = np.random.default_rng(1).normal(size=n) + distance * labels
    odds = np.log(positives / (n - positives))
    return Scored(labels, expit(distance * (x - distance / 2) + odds), name)


DATA: dict[str, Callable[[], Scored]] = {"SMS": sms, "TWITTER": tweets}


def binormal(n: int, auc: float) -> Scored:
    """Return n records, half of them positive, with a binormal ROC curve and no sampling error."""
    middle, distance = norm.ppf((np.arange(n // 2) + 0.5) / (n // 2)), np.sqrt(2.0) * norm.ppf(auc)
    x, labels = np.concatenate([middle, middle + distance]), np.arange(2 * middle.size) >= n // 2
    return Scored(labels, expit(distance * (x - distance / 2)), "binormal scores")


# --- releases


def priroc(records: Scored, epsilon: float, rng: Rng) -> Rates:
    """PriROC: recursive medians with a fifth of epsilon, and DAWA for each class with a half."""
    return by_class(records, medians(records, epsilon, rng), (1 - SHARE) * epsilon / 2, rng)


def priroc_fix(records: Scored, epsilon: float, rng: Rng) -> Rates:
    """PriROC-fix: even thresholds, and DAWA for each class with half of epsilon."""
    return by_class(records, dp.Grid.uniform(0, 1, THRESHOLDS), epsilon / 2, rng)


def medians(records: Scored, epsilon: float, rng: Rng) -> dp.Grid:
    """Return the thresholds of PriROC, for a fifth of epsilon."""
    fine = dp.Grid.uniform(0, 1, CANDIDATES)
    return recursive_medians(
        records.scores, fine, epsilon=SHARE * epsilon, method="paper", rng=rng
    )[0]


def by_class(records: Scored, grid: dp.Grid, epsilon: float, rng: Rng) -> Rates:
    """Return rates from classes that DAWA counts with epsilon each, and their sizes with them.

    Neighbours of DAWA differ by one record more or less, as its authors define them. Replacing a
    record removes one and adds one, in one class or in two, so the total cost would be twice
    epsilon, if the first stage of the authors' code were private for its share.
    """
    classes = (published_dawa(each, epsilon, rng) for each in in_cells(records, grid))
    return _points(*(shares_up_to(each) for each in classes))


def in_cells(records: Scored, grid: dp.Grid) -> list[NDArray[np.int64]]:
    """Return the negatives and the positives in each cell."""
    return [grid.count(records.scores[records.labels == label]) for label in (False, True)]


def other_stage(records: Scored, epsilon: float, rng: Rng) -> Rates:
    """PriROC with dpcore's DAWA, whose first stage has a proof, for each class."""
    grid = medians(records, epsilon, rng)
    each = Dawa((1 - SHARE) * epsilon / 2, neighbours="add-or-remove-one")
    classes = [
        dp.cdf_from_counts(counts, grid, each, rng=rng) for counts in in_cells(records, grid)
    ]
    return _points(*(released(grid.thresholds) for released in classes))


def smooths(records: Scored, epsilon: float, rng: Rng) -> Rates:
    """SmoothS: the area by smooth sensitivity, and the binormal curve that has it."""
    return smooth_roc_curve(records.labels, records.scores, epsilon=epsilon, rng=rng)


def default(records: Scored, epsilon: float, rng: Rng) -> Rates:
    """``dp.roc_curve`` with its defaults."""
    return _guess(dp.roc_curve(records.labels, records.scores, epsilon=epsilon, rng=rng))


def generous(records: Scored, epsilon: float, rng: Rng) -> Rates:
    """PriROC with less noise than any reading of the text allows, as a check and not as a release.

    The sizes of the classes are public, and each class has all of the remaining epsilon.
    """
    grid, rest = medians(records, epsilon, rng), 2 * (1 - SHARE) * epsilon
    classes = [
        (counts, published_dawa(counts, rest, rng, neighbours="replace-one"))
        for counts in in_cells(records, grid)
    ]
    return _points(*(shares_up_to(noisy, int(exact.sum())) for exact, noisy in classes))


def noisier(records: Scored, epsilon: float, rng: Rng) -> Rates:
    """SmoothS with the noise of the published medians, 8 S / epsilon, not sqrt(2) S / epsilon."""
    return smooths(records, epsilon * np.sqrt(2) / 8, rng)


Way = Callable[[Scored, float, Rng], Rates]
GENEROUS, NOISIER = "PriROC, less noise", "SmoothS, more noise"
OTHER_STAGE = "PriROC, dpcore's DAWA"
WAYS: dict[str, Way] = {
    "PriROC": priroc,
    "PriROC-fix": priroc_fix,
    "SmoothS": smooths,
    "dpcore": default,
}
CHECKED: dict[str, Way] = {
    **WAYS,
    GENEROUS: generous,
    NOISIER: noisier,
    OTHER_STAGE: other_stage,
}
LOOKS = ((VERMILION, "o-"), (GREEN, "s--"), (GREY, "^:"), (BLUE, "D-"))
STYLES = dict(zip(WAYS, LOOKS, strict=True))


def _points(*below: Values) -> Rates:
    """Return the curve from the shares of both classes up to each threshold."""
    return _guess(Points(*(1 - np.append(0.0, each)[::-1] for each in below)))


def _guess(roc: Rates) -> Rates:
    """Return the curve, or the diagonal if a released class is empty."""
    return Points(np.array([0.0, 1.0]), np.array([0.0, 1.0])) if np.isnan(area(roc)) else roc


# --- how far they are off


def exact(records: Scored) -> Points:
    """Return the ROC curve of the records themselves, with a point for every score."""
    from sklearn.metrics import roc_curve

    return Points(*roc_curve(records.labels, records.scores, drop_intermediate=False)[:2])


def area(roc: Rates) -> float:
    """Return the area under a curve."""
    return float(np.trapezoid(roc.tpr, roc.fpr))


@studies.study({"data": list(DATA), "epsilon": (0.1, 1.0), "way": list(CHECKED)})
def released_curves(data: str, epsilon: float, way: str, rng: Rng) -> Mapping[str, Any]:
    """Return the errors of the area and the curve, and the curve at 101 false positive rates."""
    records = DATA[data]()
    with quietly():
        truth, found = exact(records), CHECKED[way](records, epsilon, rng)
    return {
        "error of the area": abs(area(found) - area(truth)),
        "area between": symmetric_difference(truth, found),
        "curve": np.interp(FPRS, found.fpr, found.tpr),
    }


by_epsilon = released_curves.over(epsilon=(0.1, 0.2, 0.5, 1.0, 2.0))


def errors(quantity: str, title: str) -> Callable[[Made], Outcome]:
    """Return the function that draws Figure 7 or 8: means by epsilon, and bands of 80 % of runs."""

    def draw(made: Made) -> Outcome:
        results = made.results["released_curves"]
        epsilons = results.parameters["epsilon"]
        picture, axes = panels(2, 1, width=4.4, height=3.4)
        found: dict[tuple[str, str], Values] = {}
        for ax, (data, records) in zip(axes[0], DATA.items(), strict=True):
            made.uses(records().name)
            for way in CHECKED:
                found[data, way] = results.array(quantity, data=data, way=way)
            for way, (colour, style) in STYLES.items():
                values = found[data, way]
                low, high = np.quantile(values, [0.1, 0.9], axis=1)
                ax.fill_between(epsilons, low, high, color=colour, alpha=0.15, linewidth=0)
                ax.plot(epsilons, values.mean(axis=1), style, color=colour, markersize=4, label=way)
            ax.set(xscale="log", yscale="log", xlabel="epsilon", title=data)
        axes[0, 0].set_ylabel(title)
        said = {"title": "mean; band: 80 % of the runs", "title_fontsize": 8}
        axes[0, 1].legend(frameon=False, fontsize=8, **said)
        made.save(picture)
        return _outcome(found, epsilons)

    return draw


def _outcome(found: Mapping[tuple[str, str], Values], epsilons: Sequence[Any]) -> Outcome:
    """Compare means, two at a time, by Welch's test at the level 5 %."""
    settings = [(data, at) for data in DATA for at in range(len(epsilons))]

    def lower(first: str, second: str) -> list[tuple[str, int]]:
        return [
            (data, at)
            for data, at in settings
            if _is_lower(found[data, first][at], found[data, second][at])
        ]

    beats = {way: lower(way, "SmoothS") for way in ("PriROC", "PriROC-fix", "dpcore")}
    loses = {way: lower("SmoothS", way) for way in beats}
    median, even = lower("PriROC", "PriROC-fix"), lower("PriROC-fix", "PriROC")
    published = ("PriROC", "PriROC-fix")
    both = set.intersection(*(set(beats[way]) for way in published))
    paper, ours = (
        "; ".join(f"{way} {_means(found, way, epsilons)}" for way in ways)
        for ways in ((*published, "SmoothS"), ("dpcore",))
    )
    return Outcome(
        paper,
        ours,
        verdict(*(each in both for each in settings), len(median) > len(even)),
        f"There are {len(settings)} settings: two data sets and {len(epsilons)} values of epsilon."
        f" Both PriROC and PriROC-fix have lower errors than SmoothS in {len(both)} of them. Lower"
        " and higher mean that the means differ significantly (Welch's test, level 5 %). "
        + " ".join(
            f"{way} is lower than SmoothS in {len(beats[way])}, and higher in {len(loses[way])}."
            for way in beats
        )
        + f" PriROC is lower than PriROC-fix in {len(median)}, and higher in {len(even)}. We"
        f" checked two variants. *{NOISIER}* has the noise 8 S / epsilon of the paper's medians in"
        f" place of our sqrt(2) S / epsilon. PriROC is lower in {len(lower('PriROC', NOISIER))}"
        f" settings, and PriROC-fix in {len(lower('PriROC-fix', NOISIER))}. *{GENEROUS}* has half"
        " of the noise and public sizes of the classes, which is less noise than any reading of the"
        " paper allows. It is lower than SmoothS in"
        f" {len(lower(GENEROUS, 'SmoothS'))} settings, and lower than SmoothS with more noise in"
        f" {len(lower(GENEROUS, NOISIER))}. Eight of ten releases are in the shaded region."
        f" {THEIR_DAWA} With dpcore's DAWA for each class the means are"
        f" {_means(found, OTHER_STAGE, epsilons)}: its rule for the lengths of buckets takes n"
        " epsilon from the number of cells where n is not public, and there are more cells than n"
        " epsilon here. Among these settings it is lower than PriROC in"
        f" {len(lower(OTHER_STAGE, 'PriROC'))}, and higher in"
        f" {len(lower('PriROC', OTHER_STAGE))}.",
    )


def p_value(first: Values, second: Values) -> float:
    """Return the p of Welch's test: do two samples have the same mean?"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where all releases are nearly the same
        return float(ttest_ind(first, second, equal_var=False).pvalue)


def _is_lower(first: Values, second: Values) -> bool:
    return p_value(first, second) < 0.05 and first.mean() < second.mean()


def _means(found: Mapping[tuple[str, str], Values], way: str, epsilons: Sequence[Any]) -> str:
    ends = (0, len(epsilons) - 1)
    means = {data: found[data, way].mean(axis=1) for data in DATA}
    return ", ".join(
        f"{data} {means[data][ends[0]]:.3f} to {means[data][ends[1]]:.3f}" for data in DATA
    )
