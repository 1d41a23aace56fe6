"""From records to a private CDF. The floor is one pass over the records plus the random bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job
from .noise import words

VALUES, VALUES_PER_CELL = 10**6, 100  # the latter for the small sizes of tests
STANDARD_ERRORS = 20


class Inputs(NamedTuple):
    values: np.ndarray
    grid: dp.Grid
    counts: np.ndarray


def records(cells: int) -> Inputs:
    values = np.random.default_rng(1).beta(2, 5, min(VALUES, VALUES_PER_CELL * cells))
    grid = dp.Grid.uniform(0, 1, cells)
    return Inputs(values, grid, grid.count(values))


def ours(inputs: Inputs):
    return lambda: shares(dp.cdf(inputs.values, inputs.grid, epsilon=1.0))


def ours_raw(inputs: Inputs):
    return lambda: shares(dp.cdf(inputs.values, inputs.grid, epsilon=1.0, isotonic=False))


def ours_dyadic(inputs: Inputs):
    mechanism = dp.mechanisms.Dyadic(1.0)
    return lambda: shares(dp.cdf(inputs.values, inputs.grid, mechanism, isotonic=False))


def ours_from_counts(inputs: Inputs):
    return lambda: shares(dp.cdf_from_counts(inputs.counts, inputs.grid, epsilon=1.0))


def shares(curve: dp.CDF) -> np.ndarray:
    return curve.counts / curve.n


def opendp_tree(base: int, from_values: bool):
    """OpenDP's chain: bins, counts, tree, exact noise, consistency, CDF."""

    def start(inputs: Inputs):
        import opendp.prelude as odp

        odp.enable_features("contrib")
        cells = inputs.grid.size
        if from_values:
            space = (
                odp.vector_domain(odp.atom_domain(T=float, nan=False)),
                odp.symmetric_distance(),
            )
            counting = (
                odp.t.make_find_bin(*space, edges=inputs.grid.thresholds[:-1].tolist())
                >> odp.t.then_count_by_categories(
                    categories=list(range(cells)),
                    null_category=False,
                    MO=odp.L1Distance["i64"],
                    TOA="i64",
                )
                >> odp.t.then_b_ary_tree(leaf_count=cells, branching_factor=base)
            )
        else:
            space = odp.vector_domain(odp.atom_domain(T="i64")), odp.l1_distance(T="i64")
            counting = odp.t.make_b_ary_tree(*space, leaf_count=cells, branching_factor=base)
        # Replacing a record removes one record and adds one, which is a distance of 2.
        scale = (counting >> odp.m.then_laplace(1.0)).map(2)
        chain = (
            counting
            >> odp.m.then_laplace(scale)
            >> odp.t.make_consistent_b_ary_tree(base, TIA="i64", TOA="f64")
            >> odp.t.make_cdf("f64")
        )
        given = inputs.values if from_values else inputs.counts
        return lambda: chain(given)

    return start


def opendp(base: int, from_values: bool) -> Contender:
    start = opendp_tree(base, from_values)
    return Contender(f"OpenDP, b = {base}", "peer", start, "opendp.prelude", noise="exact")


def random_bits(inputs: Inputs):
    memory = words(inputs.grid.size)
    return lambda: CryptographicSource().fill(memory)


def pass_and_bits(inputs: Inputs):
    bits = random_bits(inputs)
    return lambda: (inputs.values.max(), bits())


def disagreements(inputs: Inputs, outcomes):
    size, n = inputs.grid.size, inputs.values.size
    true = np.cumsum(inputs.counts) / n
    bound = STANDARD_ERRORS * dp.mechanisms.Dyadic(1.0).variance(size) ** 0.5 / n
    off = {name: np.abs(np.asarray(curve) - true).max() for name, curve in outcomes.items()}
    return {name: f"off by {o:g}" for name, o in off.items() if not o <= bound}


def job(name, title, *contenders):
    return Job(
        name=name,
        title=title,
        unit="cells",
        sizes=(2**15,),
        quick=(2**15,),
        small=2**8,
        memory=2**15,
        make=records,
        outcome=lambda inputs, answer: answer,
        disagreements=disagreements,
        agreement=(
            f"F differs from the exact one by at most {STANDARD_ERRORS} standard errors of a dyadic"
            " tree"
        ),
        contenders=contenders,
    )


JOBS = (
    job(
        "release",
        "From 10^6 doubles to a private CDF, epsilon = 1 for a replaced record",
        Contender("dpcore", "ours", ours, noise="exact"),
        Contender("dpcore, not made monotone", "ours", ours_raw, noise="exact"),
        Contender("dpcore, dyadic tree, raw", "ours", ours_dyadic, noise="exact"),
        opendp(16, from_values=True),
        Contender("memory pass and random bits", "floor", pass_and_bits),
    ),
    job(
        "release-counts",
        "From ready cell counts to a private CDF, epsilon = 1 for a replaced record",
        Contender("dpcore", "ours", ours_from_counts, noise="exact"),
        opendp(16, from_values=False),
        opendp(2, from_values=False),
        Contender("random bits", "floor", random_bits),
    ),
)
