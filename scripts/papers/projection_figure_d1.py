"""Figure D.1 of the projection paper: other distributions, and three methods' curves."""

from . import _projection_pictures as pictures
from ._figure import Figure, Made, Outcome, Runs
from ._projection import OTHERS, with_and_without_noise
from ._projection_pictures import AQ, OURS, PP


def draw(made: Made) -> Outcome:
    """Draw one release for each population and method; the numbers are means of many."""
    results = made.results["with_and_without_noise"]
    populations = [str(each) for each in results.parameters["population"]]
    pictures.beside_the_truth(made, populations)

    def of(method: str, noise: str) -> list[float]:
        mean = results.array(f"{method}, {noise} noise").mean(axis=-1)
        return [float(each) for each in mean]

    def said(method: str, noise: str) -> str:
        found = zip(populations, of(method, noise), strict=True)
        return ", ".join(f"{population} {number:.2g}" for population, number in found)

    claims = {
        population: pictures.order_of_curves(
            {
                name: float(results.array(name, population=population).mean())
                for name in results.quantities
            }
        )
        for population in populations
    }
    return Outcome(
        f"Kolmogorov-Smirnov distance of the projection without noise: {said(PP, 'without')}; "
        f"released: {said(PP, 'with')} (adaptive quantiles, with "
        f"public n: {said(AQ, 'with')}).",
        f"Without noise: {said(OURS, 'without')}; released: {said(OURS, 'with')}.",
        pictures.verdict(pictures.every(claims.values())),
        "Parts of the claim, and for how many distributions each holds:"
        f" {pictures.counted_up(claims)}. The paper's text names only the normal and a beta"
        " distribution; we chose the others. Without noise, an error remains because polynomials"
        f" of degree 6 (ours: 32) cannot follow the curve exactly. {pictures.PUBLIC_N}",
    )


FIGURE = Figure(
    source="Figure D.1 (appendix D)",
    claim="The same as Figure 1, for other distributions.",
    runs=(Runs(with_and_without_noise.over(population=OTHERS), replicates=50, quick=2),),
    draw=draw,
)
