"""The data sets of the papers, read from a folder, and stand-ins if there is no folder."""

import functools
import hashlib
import inspect
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from _environment import ROOT
from numpy.typing import NDArray

from ._files import data_file

__all__ = ["Scored", "bank", "diabetes", "features", "folder", "heart", "weights"]

Values = NDArray[np.float64]
KEPT: Final = ROOT / ".figures" / "scores"
GRADIENT: Final = 1e-8  # of the mean loss, in its largest entry, when a fit ends


class Scored(NamedTuple):
    """Labels and scores, and the name of the data or of their stand-in."""

    labels: NDArray[np.bool_]
    scores: Values
    name: str


class _Source(NamedTuple):
    """A file: how to read it, which column is the label, and which stand-in replaces it."""

    name: str
    file: str
    read: dict[str, Any]
    label: str
    is_positive: Callable[[Any], Any]
    stand_in: tuple[str, int, float, int]


_SOURCES: Final = {
    "bank": _Source(
        "UCI Bank Marketing",
        "bank-full.csv",
        {"sep": ";"},
        "y",
        lambda y: y == "yes",
        ("Bank", 45_211, 0.117, 1),
    ),
    "diabetes": _Source(
        "UCI Diabetes",
        "diabetic_data.csv",
        {"keep_default_na": False},
        "readmitted",
        lambda y: y != "NO",  # at any time
        ("Diabetes", 101_766, 0.461, 2),
    ),
    "heart": _Source(
        "Framingham",
        "framingham.csv",
        {},
        "TenYearCHD",
        lambda y: y == 1,
        ("Heart disease", 3_658, 0.152, 3),
    ),
}


def folder(*files: str) -> Path | None:
    """Return the folder of data sets, if it has these files. Their digests are not checked."""
    given = os.environ.get("DPCORE_DATA")
    if not given or not all((Path(given) / file).exists() for file in files):
        return None
    return Path(given)


def bank(trained: float = 1.0) -> Scored:
    """Return the Bank data (UCI Bank Marketing), scored by a logistic regression.

    Parameters
    ----------
    trained
        The part of the records to which the model is fitted. If it is less than 1, this part is
        drawn at random, and only the other records are scored. Releases then do not depend on
        the records of the fit.
    """
    return _scored("bank", trained)


def diabetes(trained: float = 1.0) -> Scored:
    """Return the Diabetes data (UCI, 130 US hospitals) as ``bank`` does; 1 means readmitted."""
    return _scored("diabetes", trained)


def heart(trained: float = 1.0) -> Scored:
    """Return the heart disease data (Framingham) without missing values, as ``bank``."""
    return _scored("heart", trained)


@functools.cache
def weights() -> tuple[Values, str]:
    """Return the weights of 25,000 people in pounds (SOCR), and the name of the data."""
    file = data_file("SOCR-HeightWeight.csv")
    if file is None:
        rng = np.random.default_rng(4)
        return rng.normal(127.1, 11.7, 25_000), "synthetic, in place of SOCR weights"
    return np.loadtxt(
        file, delimiter=",", skiprows=1, usecols=2, encoding="utf-8-sig"
    ), "SOCR weights"


def features(name: str) -> tuple[Any, NDArray[np.bool_]] | None:
    """Return the features and labels of "bank", "diabetes" or "heart", or None without data."""
    source = _SOURCES[name]
    file = data_file(source.file)
    if file is None:
        return None
    import pandas as pd

    table = pd.read_csv(file, **source.read)
    return table, source.is_positive(table.pop(source.label)).to_numpy()


@functools.cache
def _scored(name: str, trained: float) -> Scored:
    """Return stored scores, or fit a model and store its scores. Without data, use a stand-in."""
    source = _SOURCES[name]
    file = data_file(source.file)
    if file is None:
        return _stand_in(*source.stand_in, trained)
    import sklearn

    key = hashlib.sha256(file.read_bytes())
    key.update(f"{trained} {GRADIENT} {sklearn.__version__} {inspect.getsource(_fitted)}".encode())
    path = KEPT / f"{name}-{key.hexdigest()[:16]}.npz"
    if not path.exists():
        labels, scores = _fitted(name, trained)
        KEPT.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{os.getpid()}-{path.name}")
        np.savez(fresh, labels=labels, scores=scores)
        fresh.replace(path)
    kept = np.load(path)
    return Scored(kept["labels"], kept["scores"], source.name)


def _stand_in(name: str, n: int, positive: float, seed: int, trained: float) -> Scored:
    """Return as many records, and as many positives, from a logistic model of normal features."""
    from scipy.optimize import brentq
    from scipy.special import expit

    rng = np.random.default_rng(seed)
    slope = 1.5 * rng.normal(size=n if trained == 1 else round(n * (1 - trained)))
    level = brentq(lambda x: expit(slope + x).mean() - positive, -20, 20)
    scores = expit(slope + level)
    return Scored(rng.random(slope.size) < scores, scores, f"synthetic, in place of {name}")


def _fitted(name: str, trained: float) -> tuple[NDArray[np.bool_], Values]:
    """Return labels and scores of complete records by a logistic regression fitted to a part.

    The fit must converge: scores of an unfinished fit depend on where the machine rounded.
    """
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    read = features(name)
    assert read is not None
    complete = read[0].notna().all(axis=1).to_numpy()
    table, labels = read[0][complete], read[1][complete]
    table = table.drop(columns=["encounter_id", "patient_nbr"], errors="ignore")
    codes = [column for column in table if str(column).endswith("_id")]
    table = table.astype(dict.fromkeys(codes, str))
    fitted = np.random.default_rng(1).random(labels.size) < trained
    scored = ~fitted if trained < 1 else fitted
    rare: Any = {"handle_unknown": "infrequent_if_exist", "min_frequency": 50}
    model = make_pipeline(
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include="number")),
            (OneHotEncoder(**rare), make_column_selector(dtype_exclude="number")),
        ),
        LogisticRegression(solver="newton-cholesky", tol=GRADIENT, max_iter=100),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fit that does not converge is not the model
        model.fit(table[fitted], labels[fitted])
    return labels[scored], np.asarray(model.predict_proba(table[scored])[:, 1], np.float64)
