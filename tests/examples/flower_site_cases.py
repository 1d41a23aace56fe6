"""Budgets of sites, local privacy, and what leaves a site: cases of flower_cases.py."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from flower_in_process import SETTINGS, STAGES, OneProcess, answer, asked
from flower_sum_cases import outcome, vector
from flwr.common import bytes_to_ndarray
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key
from flwr.common.serde import recorddict_to_proto
from private_curves import data, rounds
from private_curves.exact_sums import ExactSums

from dpcore import Budget
from dpcore.trust import Client, RoundError, Server

VECTORS = STAGES[2]
FOLDER = Path(sys.argv[1])


def twice():
    grid = OneProcess(5, SETTINGS)
    return [outcome(grid), outcome(grid)]


def twice_local():
    grid = OneProcess(5, {**SETTINGS, "trust-model": "local", "epsilon": 4.0})
    first = answer(grid, asked(grid))
    grid.replies.clear()
    try:
        answer(grid, asked(grid))
    except RoundError as error:
        found = str(error)
    refused = [str(error) for error in grid.errors.values()]
    return {"reports": first.reports, "error": found, "refused": refused}


def with_budget(name, cap, settings, names=rounds.ROUNDS):
    """Site i has a budget of its own; the other settings are those of a run."""
    files = [FOLDER / f"{name}-{site}.budget" for site in range(5)]
    for file in files:
        Budget.open(str(file), epsilon=cap)
    grid = OneProcess(5, {**SETTINGS, **settings})
    for context, file in zip(grid.contexts, files, strict=True):
        context.node_config["budget"] = str(file)
    found = []
    for each in names:
        grid.errors.clear()
        found.append(outcome(grid, asked(grid, each)))
        spent = [Budget.open(str(file), epsilon=cap).spent.epsilon for file in files]
        found[-1]["spent"] = [float(each or 0) for each in spent]
    return found


PROTECTED = {"seed": -1, "masks": "full-seed"}


def too_many_clients():
    return outcome(OneProcess(5, SETTINGS, node={"num-partitions": 4}))


def sites_missing():
    grid = OneProcess(5, SETTINGS)
    for context in grid.contexts:
        del context.node_config["num-partitions"]
    return outcome(grid)


def local(damage=False):
    """Compare the sum of reports with that of a Server of dpcore, with one report damaged."""
    victim = {}

    def reply(stage, site, message):
        if damage and site == 2 and not victim:
            made = message.content.config_records["reports"]["reports"]
            victim["report"] = bytes(made[0])
            broken = bytearray(made[0])
            broken[-1] ^= 1
            message.content.config_records["reports"]["reports"] = [bytes(broken), *made[1:]]

    grid = OneProcess(5, {**SETTINGS, "trust-model": "local", "epsilon": 4.0}, reply=reply)
    this = asked(grid)
    found, server, count = answer(grid, this), Server(this.protocol), 0
    for site in range(5):
        rng = rounds.generator(grid.settings, this.name, site)
        for cell in rounds.taken(this, data.site(site, 5)):
            [report] = Client(this.protocol, rng).report(int(cell))
            if report != victim.get("report"):
                server.add(report)
                count += 1
    expected = server.close()
    return {
        "reports": [found.reports, count, data.RECORDS],
        "equal": found.totals.tolist() == expected.totals.tolist()
        and found.by_level == expected.by_level
        and found.clients == expected.clients,
        "sent": dict(grid.sent),
    }


def what_leaves():
    grids = [OneProcess(5, SETTINGS) for _ in range(2)]
    this = asked(grids[0])
    answers = [answer(grid, this) for grid in grids]
    bound = ExactSums.of(this.protocol, data.MOST_RECORDS).bound
    found = {"same sum": bool((answers[0].total == answers[1].total).all()), "sites": []}
    for site in range(5):
        replies = [grid.replies[VECTORS][site].content for grid in grids]
        factor, masked = zip(
            *(
                map(
                    bytes_to_ndarray, each.config_records[RECORD_KEY_CONFIGS][Key.MASKED_PARAMETERS]
                )
                for each in replies
            ),
            strict=True,
        )
        mine = vector(grids[0], this, site) + bound
        of_site = {
            "records": len(data.site(site, 5).values),
            "words": len(mine),
            "equal to vector": [int(np.sum(each == mine)) for each in masked],
            "equal to each other": int(np.sum(masked[0] == masked[1])),
            "weights equal": bool((factor[0] == factor[1]).all()),
            "least": int(min(each.min() for each in masked)),
            "largest": int(max(each.max() for each in masked)),
            "lengths": [
                len(part)
                for part in replies[0].config_records[RECORD_KEY_CONFIGS][Key.MASKED_PARAMETERS]
            ],
            "size": recorddict_to_proto(replies[0]).ByteSize(),
            "arrays": [len(each) for each in replies[0].array_records.values()],
            "metrics": {name: dict(each) for name, each in replies[0].metric_records.items()},
            "configs": {
                name: {key: str(value) for key, value in each.items()}
                for name, each in replies[0].config_records.items()
                if name != RECORD_KEY_CONFIGS
            },
        }
        found["sites"].append(of_site)
    return found


def what_fits():
    grid = OneProcess(100, SETTINGS)
    largest = []
    for name in rounds.ROUNDS:
        this = asked(grid, name)
        sums = ExactSums.of(this.protocol, data.MOST_RECORDS)
        largest.append(max(int(np.abs(vector(grid, this, site)).max()) for site in range(100)))
    return {"largest": largest, "bound": sums.bound, "range": sums.range}


CASES = {
    "twice": twice,
    "twice local": twice_local,
    "budget": lambda: with_budget("both", 2.0, PROTECTED),
    "budget spent": lambda: with_budget("one", 1.5, PROTECTED),
    "budget seed": lambda: with_budget("seed", 2.0, {**PROTECTED, "seed": 5}, ["cdf"]),
    "budget masks": lambda: with_budget("masks", 2.0, {**PROTECTED, "masks": "flower"}, ["cdf"]),
    "budget measure": lambda: with_budget("times", 2.0, {**PROTECTED, "measure": True}, ["cdf"]),
    "too many clients": too_many_clients,
    "number of sites missing": sites_missing,
    "local": local,
    "local damaged": lambda: local(damage=True),
    "what leaves a site": what_leaves,
    "what fits": what_fits,
}
