"""A process that starts, imports, and releases one curve. The floor: starting Python and NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from ..registry import Contender, Job

EPSILON, CELLS = 1.0, 2**12
OURS = """
import numpy, dpcore
values = numpy.random.default_rng(1).beta(2, 5, {size})
curve = dpcore.cdf(values, dpcore.Grid.uniform(0, 1, {cells}), epsilon={epsilon})
print(curve(0.5))
"""
OPENDP = """
import numpy, opendp.prelude as odp
odp.enable_features("contrib")
values = numpy.random.default_rng(1).beta(2, 5, {size})
counts = numpy.histogram(values, {cells}, (0, 1))[0]
space = odp.vector_domain(odp.atom_domain(T="i64")), odp.l1_distance(T="i64")
counting = odp.t.make_b_ary_tree(*space, leaf_count={cells}, branching_factor=16)
scale = (counting >> odp.m.then_laplace(1.0)).map(2) / {epsilon}
chain = (
    counting
    >> odp.m.then_laplace(scale)
    >> odp.t.make_consistent_b_ary_tree(16, TIA="i64", TOA="f64")
    >> odp.t.make_cdf("f64")
)
print(chain(counts)[{cells} // 2 - 1])
"""
FLOOR = "import numpy; numpy.random.default_rng(1).beta(2, 5, {size})"


def printed(program: str, size: int, **variables: str) -> str:
    text = program.format(size=size, cells=CELLS, epsilon=EPSILON)
    command: list[Any] = [sys.executable, "-c", text]
    done = subprocess.run(
        command, env=os.environ | variables, check=True, capture_output=True, text=True
    )
    return done.stdout


def process(program: str):
    return lambda size: lambda: printed(program, size)


def on_an_empty_cache(size: int):
    def run():
        with tempfile.TemporaryDirectory() as folder:
            return printed(OURS, size, NUMBA_CACHE_DIR=folder)

    return run


def disagreements(size: int, outcomes):
    true = np.mean(np.random.default_rng(1).beta(2, 5, size) <= 0.5)
    bound = 1000 / size  # noise is about ten records
    off = {name: abs(found - true) for name, found in outcomes.items()}
    return {name: f"off by {o:g}" for name, o in off.items() if not o <= bound}


JOBS = (
    Job(
        name="first-use",
        title=f"Start Python, import, and release a first CDF of 2^{CELLS.bit_length() - 1} cells",
        unit="values",
        sizes=(10**5,),
        quick=(10**5,),
        small=10**4,
        memory=None,
        make=lambda size: size,
        outcome=lambda size, answer: float(answer),
        disagreements=disagreements,
        agreement="F(0.5) differs from the exact value by at most 1,000 records",
        contenders=(
            Contender("dpcore, kernels compiled before", "ours", process(OURS), noise="exact"),
            Contender("dpcore, nothing compiled yet", "ours", on_an_empty_cache, noise="exact"),
            Contender("OpenDP, b = 16", "peer", process(OPENDP), "opendp.prelude", noise="exact"),
            Contender("Python and NumPy alone", "floor", process(FLOOR)),
        ),
    ),
)
