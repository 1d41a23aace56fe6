"""Measure the streams of other libraries, for ``scripts/study.py streams``.

python scripts/stream_peers.py (a quarter of an hour)

Needs jax-privacy and dpcrpy, and not dpcore: an environment of its own is best. It writes
scripts/studies/stream_peers.json: [root mean square, largest] deviation of running counts, by
library and horizon, for rho = 1/2 or epsilon = 1 under add-or-remove-one. What is there for the
same versions is not computed again.
"""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parent / "studies" / "stream_peers.json"
HORIZONS = (128, 1024, 2**14, 2**16)
SHORT = (128, 1024)  # longer ones took more than ten minutes each
CLOSER = 1.0001  # another buffer is tried as long as it takes 0.01 % from the loss


def of_jax_privacy(steps: int, error: str) -> Any:
    """Return the variances of the buffered Toeplitz matrix that its optimiser finds."""
    from jax_privacy.matrix_factorization import buffered_toeplitz, toeplitz

    found = buffered_toeplitz.optimize(
        n=steps, min_sep=1, max_participations=1, error=error, rtol=CLOSER
    )
    noise = found.inverse().toeplitz_coefs(steps)
    square = toeplitz.sensitivity_squared(found.toeplitz_coefs(steps))
    return np.asarray(toeplitz.per_query_error(noising_coef=noise) * square)


def of_dpcrpy(name: str, steps: int, noise: str) -> Any:
    """Return those of a tree of dpcrpy, which states them step by step."""
    from importlib import import_module

    from dpcrpy.framework import noiMech

    made = {"laplace": {"LapNoiMech": {"b0": 1.0}}, "normal": {"GaussNoiMech": {"sigma0": 1.0}}}
    ((kind, scale),) = made[noise].items()
    where = {"Honaker": "treeMethods.honaker", "AuBCR": "bitMethods.aubcr"}[name]
    tree = getattr(import_module(f"dpcrpy.{where}"), name)
    counter = tree(kOrder=(steps - 1).bit_length(), noiMech=getattr(noiMech, kind)(**scale))
    return np.array([counter.dpRelease(0)[1] for _ in range(steps)])


MEASURES: dict[str, tuple[tuple[int, ...], Callable[[int], Any]]] = {
    "dpcrpy AuBCR, epsilon": (HORIZONS, lambda steps: of_dpcrpy("AuBCR", steps, "laplace")),
    "dpcrpy Honaker, epsilon": (HORIZONS, lambda steps: of_dpcrpy("Honaker", steps, "laplace")),
    "dpcrpy AuBCR, rho": (HORIZONS, lambda steps: of_dpcrpy("AuBCR", steps, "normal")),
    "dpcrpy Honaker, rho": (HORIZONS, lambda steps: of_dpcrpy("Honaker", steps, "normal")),
    "jax-privacy BLT, least largest": (HORIZONS, lambda steps: of_jax_privacy(steps, "max")),
    "jax-privacy BLT, least mean": (SHORT, lambda steps: of_jax_privacy(steps, "mean")),
}


def main() -> None:
    """Measure, and write after each horizon."""
    import jax

    jax.config.update("jax_enable_x64", True)
    versions = {name: version(name) for name in ("jax-privacy", "dpcrpy")}
    before = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    deviations = before.get("deviations", {}) if before.get("versions") == versions else {}
    for name, (horizons, measure) in MEASURES.items():
        for steps in horizons:
            measured = deviations.setdefault(name, {})
            if str(steps) in measured:
                continue
            variances = measure(steps)
            pair = [float(np.sqrt(variances.mean())), float(np.sqrt(variances.max()))]
            measured[str(steps)] = [round(value, 4) for value in pair]
            print(name, steps, measured[str(steps)], flush=True)
            text = json.dumps({"versions": versions, "deviations": deviations}, indent=1)
            FILE.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
