"""Figure 1 of the projection paper: normal records, and the curves of three methods."""

from . import _projection_pictures as pictures
from ._figure import Figure, Made, Outcome, Runs
from ._projection import with_and_without_noise
from ._projection_pictures import AQ, DEFAULT, HQ, OURS, PP


def draw(made: Made) -> Outcome:
    """Draw one release of each method; the numbers are means of many."""
    results = made.results["with_and_without_noise"]
    mean = {name: float(results.array(name).mean()) for name in results.quantities}
    steps, cells = mean["steps between quartiles"], mean["cells between quartiles"]
    quiet, noisy = (
        {method: mean[f"{method}, {noise} noise"] for method in (HQ, AQ, PP, OURS, DEFAULT)}
        for noise in ("without", "with")
    )
    quiet_words, noisy_words = (
        [f"{method} {number:.2g}" for method, number in each.items()] for each in (quiet, noisy)
    )
    pictures.beside_the_truth(made, ["normal"])
    holds = pictures.order_of_curves(mean)
    holds["adaptive quantiles ask most where the curve is steepest"] = steps > 2 * cells
    return Outcome(
        f"Kolmogorov-Smirnov distance without noise: {', '.join(quiet_words[:3])}; released: "
        f"{', '.join(noisy_words[:3])} {pictures.WITH_N}. {steps:.0%} of the steps of adaptive "
        f"quantiles are between the quartiles, where {cells:.0%} of the cells are.",
        f"Without noise: {', '.join(quiet_words[3:])}; released: {', '.join(noisy_words[3:])}.",
        pictures.verdict(holds.values()),
        "The picture shows one release; the numbers are means. Parts of the claim, and whether "
        f"each holds: {pictures.spelled(holds)}. With noise, the order of the other methods "
        f"depends on how they split their budgets (see Figure 2). {pictures.PUBLIC_N}",
    )


FIGURE = Figure(
    source="Figure 1 (section IV.A)",
    claim="Histogram queries with few bins miss the curve even without noise. Adaptive quantiles"
    " are the nearest without noise, and with noise they ask most where the curve is steepest. The"
    " projection fits, with noise or without.",
    runs=(Runs(with_and_without_noise, replicates=50, quick=3),),
    draw=draw,
)
