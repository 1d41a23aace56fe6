"""The rounds of the federation: what the sites report, and what is released.

The curves are of counts, and take two rounds. The other statistics are read from the sums of a
declared function of each record, and take one.

The ServerApp plans the rounds. The ClientApp makes each of them again from the same public
settings, and compares ``protocol.digest``. So both sides use the same grid, tree and noise.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.statistics import HosmerLemeshow
from dpcore.trust import DistributedNoise, Local, Protocol, ReleasedSum, cell_of
from dpcore.trust.functions import Function, ProjectionSums, RiskGroupSums

from .data import MOST_RECORDS, RECORDS, Records
from .room import finest

__all__ = [
    "CURVE",
    "PROJECTION",
    "ROUNDS",
    "SCORES",
    "STATISTICS",
    "TEST",
    "Round",
    "Settings",
    "generator",
    "plan",
    "planned",
    "projected",
    "released",
    "said",
    "taken",
    "tested",
    "trust_model",
]

Settings = Mapping[str, Any]  # Flower's run config: [tool.flwr.app.config] in pyproject.toml

CURVE: Final = "cdf"
SCORES: Final = "roc"
PROJECTION: Final = "projection"
TEST: Final = "hosmer-lemeshow"
STATISTICS: Final = {"curves": (CURVE, SCORES), PROJECTION: (PROJECTION,), TEST: (TEST,)}
ROUNDS: Final = (CURVE, SCORES, PROJECTION, TEST)

_MOST_DOLLARS: Final = 2048  # a public bound; payments above it would be in the last cell
_FUNCTIONS: Final[Mapping[str, Function]] = {
    # With epsilon alone, the noise grows with the degree.
    PROJECTION: ProjectionSums(0, _MOST_DOLLARS, degree=12),
    # Public groups of the predicted probability, of which many are high.
    TEST: RiskGroupSums([0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
}


@dataclass(frozen=True, slots=True)
class Round:
    """A round: its name in ``ROUNDS``, its public parameters, and its public thresholds.

    A round about a function has thresholds only to draw what is released.
    """

    name: str
    protocol: Protocol
    grid: dp.Grid


def trust_model(settings: Settings, clients: int) -> DistributedNoise | Local:
    """Return the trust model of all rounds; epsilon is the guarantee for one record, each round.

    Parameters
    ----------
    settings
        The run config: ``trust-model``, ``epsilon`` and, for distributed noise, ``dropout``.
    clients
        How many sites are asked.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    """
    name, epsilon = settings["trust-model"], settings["epsilon"]
    if name == "distributed-noise":
        return DistributedNoise(epsilon, clients, settings["dropout"], records=None)
    if name == "local":
        return Local(epsilon, clients=RECORDS)  # each record is a client of its own
    raise ParameterError("trust-model", name, "must be 'distributed-noise' or 'local'")


def planned(settings: Settings, clients: int, name: str, round_id: bytes) -> Round:
    """Return a round from the run config, the number of sites that are asked, its name and its id.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    """
    trust, cells = trust_model(settings, clients), settings["cells"]
    if isinstance(cells, bool) or not isinstance(cells, int):
        raise DtypeError("cells", type(cells).__name__, "must be an integer")
    if cells < 4 or cells % 2:
        raise ParameterError("cells", cells, "must be 4 or more, and even")
    if name not in ROUNDS:
        raise ParameterError("round", name, f"must be one of {', '.join(ROUNDS)}")
    # Both rounds of counts have as many cells: there are two for each threshold of the scores.
    of_scores = name in (SCORES, TEST)
    grid = (
        dp.Grid.uniform(0, 1, cells // 2) if of_scores else dp.Grid.uniform(0, _MOST_DOLLARS, cells)
    )
    if name not in _FUNCTIONS:
        return Round(name, Protocol(trust, cells, round_id), grid)
    if not isinstance(trust, DistributedNoise):
        what = f"must be 'distributed-noise' for {name}, which is a sum"
        raise ParameterError("trust-model", settings["trust-model"], what)
    return Round(name, finest(trust, _FUNCTIONS[name], MOST_RECORDS, round_id), grid)


def plan(settings: Settings, clients: int) -> list[Round]:
    """Return the rounds of a new run, with new ids.

    Raises
    ------
    DtypeError, ParameterError
        A setting is not as it should be.
    """
    if (statistic := settings["statistic"]) not in STATISTICS:
        raise ParameterError("statistic", statistic, f"must be one of {', '.join(STATISTICS)}")
    names = STATISTICS[statistic]
    return [planned(settings, clients, name, secrets.token_bytes(16)) for name in names]


def taken(this: Round, records: Records) -> NDArray[Any]:
    """Return what ``Client.vector`` takes of a site: the cells of its records, or the records."""
    if this.name == PROJECTION:
        return records.values
    if this.name == TEST:
        return np.column_stack([records.labels, records.scores])
    if this.name == CURVE:
        return cell_of(records.values, this.grid)
    return cell_of(records.scores, this.grid, records.labels)


def released(
    this: Round, found: dp.trust.VectorSum | dp.trust.PartialSum
) -> dp.CDF | dp.ScoreCurves | ReleasedSum:
    """Return the private curve or curves from the sum of a round, or the private sum itself."""
    if this.protocol.function is not None:
        return dp.trust.release_sum(found)
    if this.name == CURVE:
        return dp.trust.release(found, this.grid)
    return dp.trust.release_scores(found, this.grid)


def projected(this: Round, found: ReleasedSum) -> dp.CDF:
    """Return the curve of which a round has released the projection."""
    return dp.trust.projection(found).curve(this.grid).isotonic()


def tested(this: Round, found: ReleasedSum) -> HosmerLemeshow:
    """Return the test of the model, for which a round has released sums.

    The sites have got the model, so it is not fitted to their records.
    """
    mechanism = this.protocol.mechanism(found.mechanism["reporting"])
    return dp.trust.hosmer_lemeshow(found, mechanism, fitted=False)


def said(this: Round, found: dp.CDF | dp.ScoreCurves | ReleasedSum) -> list[str]:
    """Return lines that say what a round has released."""
    lines = [repr(found)]
    if isinstance(found, ReleasedSum) and this.name == PROJECTION:
        quartiles = projected(this, found).quantile([0.25, 0.5, 0.75])
        lines.append("Quartiles: " + ", ".join(f"{each:.0f}" for each in quartiles))
    if isinstance(found, ReleasedSum) and this.name == TEST:
        test = tested(this, found)
        lines.append(f"Statistic {test.statistic:.4g}, p-value {test.pvalue:.3g}")
    return lines


def generator(settings: Settings, name: str, partition_id: int) -> np.random.Generator | None:
    """Return None: the noise of a site is made from random numbers of the operating system.

    For a study with a ``seed`` of 0 or more, return a generator for this round and site. The noise
    is known then, so nobody is protected, and releases are marked as simulated.
    """
    seed = settings["seed"]
    if seed < 0:
        return None
    return np.random.default_rng([seed, ROUNDS.index(name), partition_id])
