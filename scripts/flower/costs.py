"""What dpcore costs for the rounds of the app, without Flower."""

import importlib
import sys
import time
from typing import Any, Final, NamedTuple

from .environment import APP

DROPOUT: Final = 0.2


class Alone(NamedTuple):
    """Processor seconds of dpcore for both rounds of all sites: at the sites, and at the server."""

    sites: float
    server: float


def app(name: str) -> Any:
    """Import a module of the app that needs no Flower."""
    if str(APP) not in sys.path:
        sys.path.insert(0, str(APP))
    return importlib.import_module(f"private_curves.{name}")


def measured_alone(trust: str, epsilon: float, sites: int, cells: int) -> Alone:
    """Return what dpcore takes for the rounds of the app, in this process, without Flower."""
    settings = {
        "statistic": "curves",
        "trust-model": trust,
        "epsilon": epsilon,
        "dropout": DROPOUT,
        "cells": cells,
    }
    _take_rounds(settings, sites)  # compiles
    return _take_rounds(settings, sites)


def _take_rounds(settings: dict[str, Any], sites: int) -> Alone:
    import numpy as np

    from dpcore.trust import Client, PartialSum, Server, VectorSum

    rounds, data = app("rounds"), app("data")
    held = [data.site(i, sites) for i in range(sites)]
    at_sites = at_server = 0.0
    for asked in rounds.plan(settings, sites):
        found: VectorSum | PartialSum
        protocol, start = asked.protocol, time.process_time()
        cells = [rounds.taken(asked, records) for records in held]
        if protocol.is_additive:
            vectors = [Client(protocol).vector(each) for each in cells]
            middle = time.process_time()
            found = VectorSum(protocol, np.sum(vectors, axis=0), sites)
        else:
            reports = [Client(protocol).report(int(c))[0] for each in cells for c in each]
            middle, server = time.process_time(), Server(protocol)
            for report in reports:
                server.add(report)
            found = server.close()
        rounds.released(asked, found)
        at_sites += middle - start
        at_server += time.process_time() - middle
    return Alone(at_sites, at_server)
