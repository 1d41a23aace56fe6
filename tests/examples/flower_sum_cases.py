"""Sums of vectors, sites that are lost, and servers that tell other parameters: cases of
flower_cases.py.
"""

from __future__ import annotations

import hashlib
from unittest.mock import patch

import numpy as np
from flower_in_process import SETTINGS, STAGES, OneProcess, answer, asked
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key
from private_curves import data, rounds, server_app

from dpcore.errors import DpcoreError
from dpcore.trust import Client

SETUP, SHARES, VECTORS, UNMASK = STAGES
CASES = {}


def vector(grid, this, site):
    """Return what dpcore's client of a site makes."""
    records = data.site(site, len(grid.contexts))
    rng = rounds.generator(grid.settings, this.name, site)
    return Client(this.protocol, rng).vector(rounds.taken(this, records))


def outcome(grid, this=None):
    """Run a round, and return what happened. The sum is compared with that of dpcore's clients."""
    this = this or asked(grid)
    found = {"sum": None, "error": None}
    try:
        total = answer(grid, this)
    except DpcoreError as error:
        found["error"] = f"{type(error).__name__}: {error}"
    else:
        found["reports"] = total.reports
        found["sum"] = hashlib.sha256(np.asarray(total.total, np.int64).tobytes()).hexdigest()
        before = set().union(*(grid.lost.get(stage, ()) for stage in STAGES[:3]), grid.errors)
        left = [site for site in range(len(grid.contexts)) if site not in before]
        if grid.settings["seed"] >= 0:
            expected = sum(vector(grid, this, site) for site in left)
            found["equal"] = total.total.tolist() == expected.tolist()
    found["sent"] = dict(grid.sent)
    found["answered"] = {stage: len(replies) for stage, replies in grid.replies.items()}
    found["costs"] = sum(
        "costs" in reply.content.metric_records
        for replies in grid.replies.values()
        for reply in replies.values()
    )
    found["refused"] = {
        str(site): [f"{type(error).__name__}: {error}", type(error.__context__).__name__]
        for site, error in grid.errors.items()
    }
    return found


def plain(sites, lost=None, **settings):
    settings = {key.replace("_", "-"): value for key, value in settings.items()}
    return outcome(OneProcess(sites, {**SETTINGS, **settings}, lost))


for sites in (2, 5, 40, 100):
    CASES[f"{sites}"] = lambda sites=sites: plain(sites)
CASES["5 scores"] = lambda: outcome(grid := OneProcess(5, SETTINGS), asked(grid, rounds.SCORES))
for name in (rounds.PROJECTION, rounds.TEST):
    CASES[f"5 {name}"] = lambda name=name: outcome(
        grid := OneProcess(5, {**SETTINGS, "statistic": name}, {VECTORS: [2]}), asked(grid, name)
    )
for sites in (5, 40):
    CASES[f"{sites} flower"] = lambda sites=sites: plain(sites, masks="flower")
for stage in STAGES:
    CASES[f"5 lost 1 {stage}"] = lambda stage=stage: plain(5, {stage: [2]})
    CASES[f"5 lost 2 {stage}"] = lambda stage=stage: plain(5, {stage: [2, 3]})
    CASES[f"40 lost 9 {stage}"] = lambda stage=stage: plain(40, {stage: range(9)})
CASES["40 lost 2 each"] = lambda: plain(40, {s: [2 * i, 2 * i + 1] for i, s in enumerate(STAGES)})
CASES["100 lost 5 each"] = lambda: plain(
    100, {stage: range(5 * i, 5 * i + 5) for i, stage in enumerate(STAGES)}
)


def few_records():
    with patch.object(server_app, "MOST_RECORDS", 100), patch.object(data, "MOST_RECORDS", 100):
        sizes = [len(data.site(site, 5).values) for site in range(5)]
        return {**outcome(OneProcess(5, SETTINGS)), "sizes": sizes}


def many_records():
    with patch.object(server_app, "MOST_RECORDS", 2**30):
        return outcome(OneProcess(5, SETTINGS))


def changes_setting(key, value):
    """A server that tells the clients another parameter of secure aggregation."""

    def request(stage, site, message):
        if stage == SETUP:
            message.content.config_records[RECORD_KEY_CONFIGS][key] = value

    return lambda: outcome(OneProcess(5, SETTINGS, request=request))


TOLD = {
    Key.THRESHOLD: 3,
    Key.CLIPPING_RANGE: 1024.0,
    Key.SAMPLE_NUMBER: 4,
    Key.SHARE_NUMBER: 6,
    Key.TARGET_RANGE: 2**20,
    Key.MOD_RANGE: 2**31,
    Key.MAX_WEIGHT: 2.0,
}
for key, value in TOLD.items():
    CASES[f"told {key}"] = changes_setting(key, value)


def other_clients():
    def request(stage, site, message):
        if stage == VECTORS:
            configs = message.content.config_records
            record = next(each for each in configs.values() if "clients" in each)
            record["clients"] = 4

    return outcome(OneProcess(5, SETTINGS, request=request))


CASES["measure"] = lambda: plain(5, measure=True)
CASES["records small"] = few_records
CASES["records large"] = many_records
CASES["told clients"] = other_clients
