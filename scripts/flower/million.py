"""What a million clients cost: in aggregate, and with SecAgg+ as the app uses it."""

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from _pages import table

from .costs import DROPOUT

CLIENTS: Final = 10**6
_DROPPED: Final = round(DROPOUT * CLIENTS)
_LEFT: Final = CLIENTS - _DROPPED
_SECURE_AGGREGATION: Final = Path(__file__).with_name("secure_aggregation.py")
_SEED: Final = 3  # of made-up records, not of noise
_MEASURED, _COMPUTED = "measured", "computed"


class Release(NamedTuple):
    """A release of a million made-up records, one for each client."""

    model: str
    epsilon: float
    seconds: float
    deviation: float


class Site(NamedTuple):
    """Bytes of a site of the simulation in a round, and its records, on average."""

    up: float
    down: float
    vector: float
    reports: float
    records: float


def released(cells: int, epsilon: Mapping[str, float]) -> list[Release]:
    """Measure releases from a million clients, whose noise or reports are drawn in aggregate."""
    import numpy as np

    import dpcore as dp
    from dpcore.trust import DistributedNoise, Local

    records = np.random.default_rng(_SEED).beta(2, 5, CLIENTS)
    grid = dp.Grid.uniform(0, 1, cells)
    found = []
    for name, each in epsilon.items():
        model = (
            Local(each, CLIENTS) if name == "local" else DistributedNoise(each, CLIENTS, DROPOUT)
        )
        for _ in range(2):  # the first one compiles
            start = time.perf_counter()
            curve = dp.cdf(records, grid, model)
            seconds = time.perf_counter() - start
        found.append(Release(name, each, seconds, float(np.max(curve.noise_deviation))))
    return found


def secure(python: Path, epsilon: float, cells: int, sites: int) -> dict[str, Any]:
    """Return what SecAgg+ needs for a million clients, as ``secure_aggregation.py`` prints it.

    Parameters
    ----------
    python
        The interpreter of the environment that has Flower.
    epsilon, cells
        As in the app's run config.
    sites
        How many are simulated. The number of their neighbours is among what is returned.
    """
    asked = [str(each) for each in (epsilon, DROPOUT, cells, sites, CLIENTS)]
    command = [str(python), str(_SECURE_AGGREGATION), *asked]
    said = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    found: dict[str, Any] = json.loads(said)
    return found


def of_million(found: Mapping[str, Any], releases: Sequence[Release], site: Site) -> list[str]:
    """Return a table: what is measured, and what is computed from this."""
    rows: list[tuple[str, ...]] = []
    for each in releases:
        what = f"dpcore alone: a CDF by {each.model}, epsilon = {each.epsilon:g}"
        part = f"{100 * each.deviation / CLIENTS:.2g} % of all"
        said = f"{_time(each.seconds)}; noise deviation {each.deviation:,.0f} records, {part}"
        rows.append((what, said, _MEASURED))
    return [
        "**A million clients.** *Measured* is in one process on the same machine. *Computed* is for"
        " a million clients like the sites above, from what was measured there with"
        f" {found['neighbours of a site']} neighbours: all messages but the vectors grow with this"
        f" number. Of the clients, {_DROPPED:,} drop out after they have shared their keys.",
        "",
        *table(
            ("for one round", "", "how it is known"),
            [*rows, *_of_secure(found, site), *_of_local(site)],
        ),
    ]


def _of_secure(found: Mapping[str, Any], site: Site) -> list[tuple[str, ...]]:
    neighbours, mask, agree = found["neighbours"], found["mask"]["full-seed"], found["agree"]
    others, more = neighbours - 1, neighbours / found["neighbours of a site"]
    up, down = site.vector + (site.up - site.vector) * more, site.down * more
    shared = found["share seed"] + found["share key"]
    made = others * (2 * agree + mask)  # a key to send shares, and one for masks
    limits = "T = {range:,}; {noise:,} for noise, so at most {records:,} records".format(**found)
    pairs = _DROPPED * others
    return [
        ("SecAgg+: the range T below 2³² / 10⁶, and what fits of a client", limits, _COMPUTED),
        (
            "neighbours of a client, and how many rebuild its key",
            f"{neighbours} and {found['threshold']}",
            _COMPUTED,
        ),
        ("a client makes shares of its seed and its key", _time(shared), _MEASURED),
        ("a client agrees on keys and makes masks with its neighbours", _time(made), _COMPUTED),
        ("bytes to the server", f"{_size(up)}, of which vectors {_size(site.vector)}", _COMPUTED),
        ("bytes from the server", _size(down), _COMPUTED),
        _each("the server rebuilds seeds", _LEFT, found["combine seed"]),
        _each("the server removes clients' own masks", _LEFT, mask),
        _each("the server rebuilds keys of those who dropped out", _DROPPED, found["combine key"]),
        _each("the server removes masks of pairs", pairs, agree + mask),
    ]


def _of_local(site: Site) -> list[tuple[str, ...]]:
    one = site.reports / site.records
    return [
        (f"local: reports of {site.records:.0f} records each", _size(site.reports), _COMPUTED),
        ("local: reports of one record each", _size(one), _COMPUTED),
    ]


def _each(what: str, count: int, seconds: float) -> tuple[str, ...]:
    return what, f"{count:,} × {_time(seconds)} = {_time(count * seconds)}", _COMPUTED


def _size(of_client: float) -> str:
    return f"{_three(CLIENTS * of_client / 1e9)} GB"


def _time(seconds: float) -> str:
    for unit, length in (("hours", 3600.0), ("minutes", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= length:
            return f"{_three(seconds / length)} {unit}"
    return f"{_three(seconds / 1e-6)} µs"


def _three(number: float) -> str:
    """Return a number with three digits that count."""
    return f"{float(f'{number:.3g}'):,g}"
