"""The records of this example, and how they are spread over the sites.

In a real federation, this file is replaced: ``site`` reads the site's own records, the scores come
from a model that all sites were given, and ``RECORDS`` and ``MOST_RECORDS`` are public. There
is no ``everybody`` then, because nobody sees all records.

Here the records are those of the RAND Health Insurance Experiment (Cameron & Trivedi 2005; public
domain, shipped with statsmodels), one for each person and year. The value of a record is the
yearly payment for taking part in the experiment. Its label says whether the person saw a doctor in
that year. Its score is the probability of this by a logistic regression. The model is fitted to a
quarter of the records, which is public. The other records are held by the sites.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.datasets import randhie

__all__ = ["MOST_RECORDS", "OUTCOME", "RECORDS", "VALUE", "Records", "everybody", "site"]

VALUE: Final = "participation payment, dollars a year"
OUTCOME: Final = "a visit to a doctor in the year"
RECORDS: Final = 15_143  # at all sites together; public, and the same for all numbers of sites
MOST_RECORDS: Final = RECORDS  # at one site: a bound that is public, too

_FEATURES = ["lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp"]
_PUBLIC = 4  # one record in 4 is public
_SEED = 1  # not a secret: the sites of one run must agree who has which record
_CONCENTRATION = 1.0  # of the Dirichlet distribution; the smaller, the more the sites differ


class Records(NamedTuple):
    """Private records: (n,) values, (n,) labels and (n,) scores, the model's probabilities."""

    values: NDArray[np.float64]
    labels: NDArray[np.bool_]
    scores: NDArray[np.float64]


def site(partition_id: int, num_partitions: int) -> Records:
    """Return the records of one site; it may have none.

    Each record is at exactly one site. The sites have unequal numbers of records, and unequal
    shares of positive labels.

    Raises
    ------
    ValueError
        There is no such site.
    """
    if not 0 <= partition_id < num_partitions:
        raise ValueError(f"partition_id = {partition_id}: must be 0 to {num_partitions - 1}")
    here = _site_of_each(num_partitions) == partition_id
    return Records(*(column[here] for column in _held()))


def everybody() -> Records:
    """Return the records of all sites.

    Only this example's picture needs them, for the true curves beside the private ones. The records
    are public here, so it may. In a real federation nobody has them.
    """
    return _held()


@cache
def _held() -> Records:
    """Return what the sites hold: all records but the public quarter, with the model's scores."""
    table = randhie.load_pandas().data
    values = np.exp(table["lpi"].to_numpy()).round(2)  # the data set has log(max(1, dollars))
    labels = (table["mdvis"] > 0).to_numpy()
    features = table[_FEATURES].to_numpy()
    order = np.random.default_rng(_SEED).permutation(len(table))
    public, held = order[: len(table) // _PUBLIC], order[len(table) // _PUBLIC :]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(features[public], labels[public])
    scores = model.predict_proba(features[held])[:, 1]
    return Records(values[held], labels[held], scores)


@cache
def _site_of_each(num_partitions: int) -> NDArray[np.int64]:
    """Return the site that holds each record, (n,).

    Each class is divided by shares of its own, which are drawn from a Dirichlet distribution. So
    the sites differ in size and in their share of positives.
    """
    rng = np.random.default_rng([_SEED, num_partitions])
    labels = _held().labels
    found = np.empty(labels.size, np.int64)
    for label in (False, True):
        shares = rng.dirichlet(np.full(num_partitions, _CONCENTRATION))
        found[labels == label] = rng.choice(num_partitions, np.sum(labels == label), p=shares)
    return found
