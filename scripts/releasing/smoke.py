"""A short trial of an installed dpcore; release.py runs it with the environment's Python.

``library`` tries releases with compiled kernels, and statistics of them. ``command`` tries the
command line. This file needs only the standard library and the dependencies of dpcore.
"""

import os
import subprocess
import sys
from pathlib import Path


def library() -> None:
    """Import dpcore, release a curve, and compute statistics of it."""
    import numpy as np

    import dpcore as dp

    assert Path(dp.__file__).is_relative_to(sys.prefix), dp.__file__
    values = np.arange(20_000) % 100
    score = (values + 0.5) / 100
    grid = dp.Grid.uniform(0, 100, 128)
    curve = dp.cdf(values, grid, epsilon=1.0)
    assert 40 < curve.quantile(0.5) < 60, curve
    assert dp.CDF.from_json(curve.to_json()) == curve
    assert 40 < dp.cdf(values, grid, rho=0.5).quantile(0.5) < 60
    dyadic = dp.cdf(values, grid, dp.mechanisms.Dyadic(epsilon=1.0), isotonic=False)
    for smoothed in (dyadic.smooth(1), dyadic.smooth(2), dyadic.smooth(2, solver="osqp")):
        assert 40 < smoothed.quantile(0.5) < 60, smoothed
    curves = dp.roc_curve(np.random.default_rng(1).random(20_000) < score, score, epsilon=1.0)
    assert 0.7 < curves.auc < 0.9, curves
    assert curves.auc_interval().low < curves.auc
    unit = dp.Grid.uniform(0, 1, 8)
    table = dp.table(score, score[::-1], dp.TableGrid(unit, unit), epsilon=1.0)
    assert dp.Table.from_json(table.to_json()) == table
    assert any(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("kernels-*/*")), "nothing was compiled"


def command() -> None:
    """Release a column of a file, at the command line."""
    import dpcore as dp

    Path("values.csv").write_text("value\n" + "".join(f"{i % 100}\n" for i in range(20_000)))
    bounds = ["--column", "value", "--lower", "0", "--upper", "100", "--epsilon", "1"]
    executable = Path(sys.executable).with_name("dpcore")
    for start in ([str(executable)], [sys.executable, "-I", "-m", "dpcore"]):
        said = subprocess.check_output([*start, "--version"], encoding="utf-8")
        assert said.strip() == f"dpcore {dp.__version__}", said
        subprocess.check_output([*start, "cdf", "values.csv", *bounds, "--json", "curve.json"])
        curve = dp.CDF.from_json(Path("curve.json").read_text("utf-8"))
        assert 40 < curve.quantile(0.5) < 60, curve


if __name__ == "__main__":
    {"library": library, "command": command}[sys.argv[1]]()
