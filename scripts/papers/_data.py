"""The papers' data sets, where there is a folder of them, and what stands in for them elsewhere."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Scored", "bank", "diabetes", "folder", "heart", "weights"]

Values = NDArray[np.float64]


class Scored(NamedTuple):
    """Labels and scores, and the name of the data: real, or what stands in for them."""

    labels: NDArray[np.bool_]
    scores: Values
    name: str


def folder(*files: str) -> Path | None:
    """Return the folder of data sets, if it has these files."""
    given = os.environ.get("DPCORE_DATA")
    if not given or not all((Path(given) / file).exists() for file in files):
        return None
    return Path(given)


@functools.cache
def bank() -> Scored:
    """Return the Bank data (UCI Bank Marketing), scored by a logistic regression fitted to them."""
    found = folder("bank-full.csv")
    if found is None:
        return _stand_in("Bank", n=45_211, positive=0.117, seed=1)
    import pandas as pd

    table = pd.read_csv(found / "bank-full.csv", sep=";")
    return _scored(table, (table.pop("y") == "yes").to_numpy(), "UCI Bank Marketing")


@functools.cache
def diabetes() -> Scored:
    """Return the Diabetes data (UCI, 130 US hospitals): was somebody readmitted, at any time?"""
    found = folder("diabetic_data.csv")
    if found is None:
        return _stand_in("Diabetes", n=101_766, positive=0.461, seed=2)
    import pandas as pd

    table = pd.read_csv(found / "diabetic_data.csv", keep_default_na=False)
    labels = (table.pop("readmitted") != "NO").to_numpy()
    table = table.drop(columns=["encounter_id", "patient_nbr"])
    codes = [name for name in table if str(name).endswith("_id")]
    return _scored(table.astype(dict.fromkeys(codes, str)), labels, "UCI Diabetes")


@functools.cache
def heart() -> Scored:
    """Return the heart disease data (Framingham), the records without missing values."""
    found = folder("framingham.csv")
    if found is None:
        return _stand_in("Heart disease", n=3_658, positive=0.152, seed=3)
    import pandas as pd

    table = pd.read_csv(found / "framingham.csv").dropna()
    return _scored(table, (table.pop("TenYearCHD") == 1).to_numpy(), "Framingham")


@functools.cache
def weights() -> tuple[Values, str]:
    """Return the weights of 25,000 people in pounds (SOCR), and the name of the data."""
    found = folder("SOCR-HeightWeight.csv")
    if found is None:
        rng = np.random.default_rng(4)
        return rng.normal(127.1, 11.7, 25_000), "synthetic, in place of SOCR weights"
    file = found / "SOCR-HeightWeight.csv"
    return np.loadtxt(file, delimiter=",", skiprows=1, usecols=2, encoding="utf-8-sig"), "SOCR"


def _stand_in(name: str, n: int, positive: float, seed: int) -> Scored:
    """Return records of a logistic model on normal features, as many and with as many positives."""
    from scipy.optimize import brentq
    from scipy.special import expit

    rng = np.random.default_rng(seed)
    slope = 1.5 * rng.normal(size=n)
    level = brentq(lambda x: expit(slope + x).mean() - positive, -20, 20)
    scores = expit(slope + level)
    return Scored(rng.random(n) < scores, scores, f"synthetic, in place of {name}")


def _scored(table: Any, labels: NDArray[np.bool_], name: str) -> Scored:
    """Return the scores of a logistic regression that was fitted to the records."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rare: Any = {"handle_unknown": "infrequent_if_exist", "min_frequency": 50}
    model = make_pipeline(
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include="number")),
            (OneHotEncoder(**rare), make_column_selector(dtype_exclude="number")),
        ),
        LogisticRegression(max_iter=2000),
    ).fit(table, labels)
    return Scored(labels, np.asarray(model.predict_proba(table)[:, 1], np.float64), name)
