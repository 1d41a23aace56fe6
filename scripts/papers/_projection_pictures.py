"""The pictures of the projection paper's figures, and the sentences about their numbers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from _pages import table
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from dpcore.curves.colours import BLACK
from dpcore.studies import Results

from ._figure import BLUE, GREEN, GREY, PURPLE, SEED, VERMILION, Made, Outcome, Verdict, panels
from ._projection import BETA, DISTANCES, LAVISH, counted
from ._projection_methods import METHODS

STYLES: dict[str, dict[str, Any]] = {
    "histogram queries": {"color": PURPLE, "marker": "s", "linestyle": "--"},
    "adaptive quantiles": {"color": GREEN, "marker": "^", "linestyle": "--"},
    "projection, published": {"color": VERMILION, "marker": "o", "linestyle": "--"},
    "projection, ours": {"color": BLUE, "marker": "o", "linestyle": "-"},
    "dp.cdf": {"color": BLACK, "marker": "D", "linestyle": "-"},
    "histogram queries, even shares": {"color": PURPLE, "marker": "s", "linestyle": ":"},
    "adaptive quantiles, even shares": {"color": GREEN, "marker": "^", "linestyle": ":"},
}
HQ, AQ, PP, OURS, DEFAULT, HQ_EVENLY, AQ_EVENLY = STYLES
FEW, MANY = NAMED = (0.1, 1.0)  # the epsilons that the paper's text names
FITS = 0.1  # a curve that is off by less, by Kolmogorov-Smirnov, fits the truth to the eye
QUANTILES = (0.05, 0.95)  # of the replicates: the ends of the bars
PUBLIC_N = (
    "Histogram queries and adaptive quantiles are dpcore's here, and use n, which is public: counts"
    " of bins add up to n, and a step needs one noisy count, not two"
    " (docs/proofs/projection.md). The published ones do not use n and are less accurate, so the"
    " comparison favours them over the projection."
)
WITH_N = "(the first two with public n)"
EVEN_SHARES = "With even shares of the budget for all bins and steps (dotted lines; see Figure 2)"


@dataclass(frozen=True)
class Found:
    """The results of a study.

    Parameters
    ----------
    values
        By method: (epsilons, replicates, distances).
    epsilons
        The values of epsilon along the first axis.
    """

    values: Mapping[str, NDArray[np.float64]]
    epsilons: Sequence[Any]

    @classmethod
    def of(cls, results: Results, *, which: str = "", **selected: str) -> Self:
        """Return the results of a study for each method.

        ``which`` is ", again" if rounds ask again, and ", population" for distances from the
        population.
        """
        values = {}
        for method in STYLES:
            name = f"{method}{which}" if f"{method}{which}" in results.quantities else method
            values[method] = results.array(name, **selected)
        return cls(values, results.parameters["epsilon"])

    def mean(self, method: str, epsilon: float) -> float:
        """Return the mean Kolmogorov-Smirnov distance."""
        return float(self.values[method][self.epsilons.index(epsilon), :, 0].mean())

    def said(self, *methods: str) -> str:
        """Return mean Kolmogorov-Smirnov distances in words."""
        return "; ".join(
            f"at epsilon = {epsilon:g}: "
            + ", ".join(f"{method} {self.mean(method, epsilon):.2g}" for method in methods)
            for epsilon in NAMED
        )


def by_population(results: Results, *, which: str = "") -> dict[str, Found]:
    """Return the results of a study for each population."""
    return {
        str(each): Found.of(results, which=which, population=str(each))
        for each in results.parameters["population"]
    }


def ratios(rows: Mapping[str, Found], first: str, second: str, epsilon: float) -> str:
    """Return in words the ratio of two methods' distances."""
    return ", ".join(
        f"{title} {found.mean(first, epsilon) / found.mean(second, epsilon):.2g}"
        for title, found in rows.items()
    )


def compared(rows: Mapping[str, Found]) -> tuple[str, ...]:
    """Return a table of mean Kolmogorov-Smirnov distances at the paper's epsilons."""
    columns = [(title, found, epsilon) for epsilon in NAMED for title, found in rows.items()]
    head = ["Kolmogorov-Smirnov", *(f"{title}, epsilon = {e:g}" for title, _, e in columns)]
    methods = next(iter(rows.values())).values
    return tuple(
        table(head, ([m, *(f"{found.mean(m, e):.4f}" for _, found, e in columns)] for m in methods))
    )


def order_of_curves(mean: Mapping[str, float]) -> dict[str, bool]:
    """Return which parts of the paper's claim about single curves hold."""
    hq, aq, pp = (mean[f"{method}, without noise"] for method in (HQ, AQ, PP))
    return {
        "without noise, histogram queries are farther off than the projection": hq > pp,
        "without noise, adaptive quantiles are the nearest": aq < min(hq, pp),
        f"without noise, the projection is off by less than {FITS:g}": pp < FITS,
        f"with noise, the projection is off by less than {FITS:g}": mean[f"{PP}, with noise"]
        < FITS,
    }


def order(found: Found, hq: str = HQ, aq: str = AQ) -> dict[str, bool]:
    """Return which parts of the paper's claim hold if one curator has all records."""
    worst = [found.mean(hq, e) > max(found.mean(aq, e), found.mean(PP, e)) for e in NAMED]
    return {
        "histogram queries are the worst": all(worst),
        "at epsilon = 0.1, the projection is off by less than 1.5 times as much as adaptive"
        " quantiles": found.mean(PP, FEW) < 1.5 * found.mean(aq, FEW),
        "at epsilon = 1, adaptive quantiles are better, by less than a factor of 2": found.mean(
            aq, MANY
        )
        < found.mean(PP, MANY)
        < 2 * found.mean(aq, MANY),
    }


def better_for_beta(found: Found, aq: str = AQ) -> dict[str, bool]:
    """Return whether the projection is better than adaptive quantiles where the paper says so."""
    return {
        "for the beta distribution, the projection is better than adaptive quantiles at epsilon ="
        " 0.1": found.mean(PP, FEW) < found.mean(aq, FEW),
    }


def order_of_sites(found: Found, hq: str = HQ, aq: str = AQ) -> dict[str, bool]:
    """Return which parts of the paper's claim about sites hold."""
    rivals = {e: min(found.mean(hq, e), found.mean(aq, e)) for e in NAMED}
    return {
        "at epsilon = 0.1, the projection is the best": found.mean(PP, FEW) < rivals[FEW],
        "at epsilon = 1, the projection is off by less than 1.5 times as much as the better of the"
        " others": found.mean(PP, MANY) < 1.5 * rivals[MANY],
    }


def order_of_rounds(found: Found, hq: str = HQ, aq: str = AQ) -> dict[str, bool]:
    """Return which parts of the paper's claim about updates hold."""
    return {
        f"at epsilon = {e:g}, the projection is the best": found.mean(PP, e)
        < min(found.mean(hq, e), found.mean(aq, e))
        for e in NAMED
    }


def verdict(plain: Iterable[bool], evenly: Iterable[bool] = ()) -> Verdict:
    """Return the verdict on a claim from its parts.

    The paper does not say how its rivals split their budgets. A part that holds only with even
    shares does not count as different.
    """
    plain = list(plain)
    return "agrees" if all(plain) else "in part" if any([*plain, *evenly]) else "differs"


def every(claims: Iterable[Mapping[str, bool]]) -> list[bool]:
    """Return whether each part of each claim holds."""
    return [holds for each in claims for holds in each.values()]


def spelled(holds: Mapping[str, bool]) -> str:
    """Return in words which parts of a claim hold."""
    return "; ".join(f"{part} ({'yes' if yes else 'no'})" for part, yes in holds.items())


def counted_up(
    claims: Mapping[str, Mapping[str, bool]], besides: Mapping[str, bool] | None = None
) -> str:
    """Return in words for how many populations each part of a claim holds, and other parts."""
    parts = next(iter(claims.values()))
    sums = {part: sum(each[part] for each in claims.values()) for part in parts}
    words = [f"{part} ({found} of {len(claims)})" for part, found in sums.items()]
    return "; ".join([*words, spelled(besides)] if besides else words)


def against_epsilon(made: Made, rows: Mapping[str, Found], *, turned: bool = False) -> None:
    """Draw means and quantiles against epsilon: a row of panels for each of ``rows``.

    With ``turned``, each has a column.
    """
    if turned:
        picture, axes = panels(len(rows), len(DISTANCES), width=2.45, height=1.85)
    else:
        picture, axes = panels(len(DISTANCES), len(rows), width=3.6, height=2.7)
    for (title, found), row in zip(rows.items(), axes.T if turned else axes, strict=True):
        for place, (distance, ax) in enumerate(zip(DISTANCES, row, strict=True)):
            for method in found.values:
                _line(ax, found, place, method)
            ax.set(xscale="log", yscale="log")
            ax.set_title(f"{title}: {distance}", loc="left", fontsize=8.5)
            ax.set_xticks(found.epsilons, [f"{epsilon:g}" for epsilon in found.epsilons])
            ax.minorticks_off()
            ax.tick_params(labelsize=8)
    _label(axes, "epsilon", "distance")
    known = axes[0, 0].get_legend_handles_labels()
    bars = f"mean; bars: 90 % of the runs; {HQ} and {AQ} use public n"
    picture.legend(
        *known, loc="outside upper center", ncols=4, frameon=False, fontsize=9, title=bars
    )
    made.save(picture)


def over_populations(
    made: Made,
    rows: Mapping[str, Found],
    order: Callable[..., dict[str, bool]],
    of_beta: Callable[..., dict[str, bool]] = lambda *_: {},
) -> Outcome:
    """Draw the three distances for each population, and return the outcome of a claim.

    ``of_beta`` judges the part of the claim about the beta distribution alone.
    """
    against_epsilon(made, rows, turned=True)
    beta = of_beta(rows[BETA]), of_beta(rows[BETA], AQ_EVENLY)
    plain = {name: order(found) for name, found in rows.items()}
    evenly = {name: order(found, HQ_EVENLY, AQ_EVENLY) for name, found in rows.items()}
    return Outcome(
        "Kolmogorov-Smirnov distance of the published projection, divided by that of adaptive "
        f"quantiles, at epsilon = 0.1: {ratios(rows, PP, AQ, FEW)}; at epsilon = 1: "
        f"{ratios(rows, PP, AQ, MANY)}. Divided by that of histogram queries, at epsilon = 0.1: "
        f"{ratios(rows, PP, HQ, FEW)}; at epsilon = 1: {ratios(rows, PP, HQ, MANY)}. Adaptive "
        "quantiles and histogram queries have public n.",
        "Distance of the published projection, divided by that of ours, at epsilon = 0.1: "
        f"{ratios(rows, PP, OURS, FEW)}; at epsilon = 1: {ratios(rows, PP, OURS, MANY)}. Divided "
        f"by that of dp.cdf's default, at epsilon = 0.1: {ratios(rows, PP, DEFAULT, FEW)}; at "
        f"epsilon = 1: {ratios(rows, PP, DEFAULT, MANY)}.",
        verdict(every([*plain.values(), beta[0]]), every([*evenly.values(), beta[1]])),
        "Parts of the claim, and for how many distributions each holds: "
        f"{counted_up(plain, beta[0])}. {EVEN_SHARES}, the distance of the projection, divided by "
        f"that of adaptive quantiles, is at epsilon = 0.1: {ratios(rows, PP, AQ_EVENLY, FEW)}; at "
        f"epsilon = 1: {ratios(rows, PP, AQ_EVENLY, MANY)}. Then the parts of the claim hold for: "
        f"{counted_up(evenly, beta[1])}. {PUBLIC_N}",
        compared(rows),
    )


def beside_the_truth(made: Made, populations: Sequence[str]) -> None:
    """Draw one release of each population: a row for each, a column for a method."""
    methods = (HQ, AQ, PP, OURS)
    picture, axes = panels(
        len(methods), len(populations), width=2.8, height=2.1 if len(populations) > 1 else 2.9
    )
    looks: dict[str, dict[str, Any]] = {
        "the records": {"color": GREY, "linewidth": 4, "alpha": 0.5},
        "without noise": {"color": BLACK},
        f"one release, epsilon = {FEW:g}": {"color": BLACK, "linestyle": (0, (4, 1.5))},
    }
    for row, population in zip(axes, populations, strict=True):
        task = counted(population, FEW, np.random.default_rng(SEED))
        for ax, method in zip(row, methods, strict=True):
            quiet, noisy = (METHODS[method](task._replace(epsilon=e)) for e in (LAVISH, FEW))
            for curve, look in zip((task.truth(), quiet, noisy), looks.values(), strict=True):
                colour = STYLES[method]["color"] if look["color"] == BLACK else GREY
                shown = curve.thresholds, curve.counts / curve.n
                ax.step(*shown, where="post", **{**look, "color": colour})
            ax.set_title(f"{population}: {method}", loc="left", fontsize=9)
            ax.set_ylim(-0.03, 1.03)
    _label(axes, "value", "share of records")
    lines = [Line2D([], [], **look) for look in looks.values()]
    title = f"{HQ} and {AQ} use public n"
    place: dict[str, Any] = {"loc": "outside upper center", "ncols": 3, "frameon": False}
    picture.legend(lines, looks, **place, fontsize=9, title=title, title_fontsize=9)
    made.save(picture)


def _line(ax: Any, found: Found, place: int, method: str) -> None:
    """Draw means, and bars from one quantile to the other, beside those of other methods."""
    values, look = found.values[method][..., place], STYLES[method]
    aside = 1.025 ** (list(STYLES).index(method) - len(STYLES) / 2)
    at, mean = np.array(found.epsilons, float) * aside, values.mean(axis=-1)
    ax.plot(at, mean, **look, linewidth=1.3, markersize=4, label=method)
    ax.vlines(at, *np.quantile(values, QUANTILES, axis=-1), color=look["color"], linewidth=0.7)


def _label(axes: Any, across: str, up: str) -> None:
    for ax in axes[-1]:
        ax.set_xlabel(across)
    for ax in axes[:, 0]:
        ax.set_ylabel(up)
