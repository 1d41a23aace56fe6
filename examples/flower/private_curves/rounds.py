"""The two rounds of the federation: what the sites report, and what is released.

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
from dpcore.trust import DistributedNoise, Local, Protocol, cell_of

from .data import RECORDS, Records

__all__ = [
    "CURVE",
    "ROUNDS",
    "SCORES",
    "Round",
    "Settings",
    "cells_of",
    "generator",
    "plan",
    "planned",
    "released",
    "trust_model",
]

Settings = Mapping[str, Any]  # Flower's run config: [tool.flwr.app.config] in pyproject.toml

CURVE: Final = "cdf"
SCORES: Final = "roc"
ROUNDS: Final = (CURVE, SCORES)

_MOST_DOLLARS: Final = 2048  # a public bound; payments above it would be in the last cell


@dataclass(frozen=True, slots=True)
class Round:
    """A round: its name in ``ROUNDS``, its public parameters, and its public thresholds."""

    name: str
    protocol: Protocol
    grid: dp.Grid


def trust_model(settings: Settings, clients: int) -> DistributedNoise | Local:
    """Return the trust model of both rounds; epsilon is the guarantee for one record, each round.

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
    # Both rounds have as many cells: there are two for each threshold of the scores.
    if name == CURVE:
        grid = dp.Grid.uniform(0, _MOST_DOLLARS, cells)
    elif name == SCORES:
        grid = dp.Grid.uniform(0, 1, cells // 2)
    else:
        raise ParameterError("round", name, f"must be one of {', '.join(ROUNDS)}")
    return Round(name, Protocol(trust, cells, round_id), grid)


def plan(settings: Settings, clients: int) -> list[Round]:
    """Return the rounds of a new run, with new ids."""
    return [planned(settings, clients, name, secrets.token_bytes(16)) for name in ROUNDS]


def cells_of(this: Round, records: Records) -> NDArray[np.int64]:
    """Return the cell of each record of a site: what ``Client.vector`` or ``.report`` takes."""
    if this.name == CURVE:
        return cell_of(records.values, this.grid)
    return cell_of(records.scores, this.grid, records.labels)


def released(
    this: Round, found: dp.trust.VectorSum | dp.trust.PartialSum
) -> dp.CDF | dp.ScoreCurves:
    """Return the private curve, or the private curves of the scores, from the sum of a round."""
    if this.name == CURVE:
        return dp.trust.release(found, this.grid)
    return dp.trust.release_scores(found, this.grid)


def generator(settings: Settings, name: str, partition_id: int) -> np.random.Generator | None:
    """Return None: the noise of a site is made from random numbers of the operating system.

    For a study with a ``seed`` of 0 or more, return a generator for this round and site. The noise
    is known then, so nobody is protected, and releases are marked as simulated.
    """
    seed = settings["seed"]
    if seed < 0:
        return None
    return np.random.default_rng([seed, ROUNDS.index(name), partition_id])
