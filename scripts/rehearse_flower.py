"""The app of examples/flower on this machine: ``python scripts/rehearse_flower.py [--write]``.

Runs the app in Flower's simulation engine under both trust models. Then it runs the app with a
SuperLink and five SuperNodes, which talk over loopback. One SuperNode is killed in the middle of a
round, and the release is made without it. Then two are killed, and the run ends with an error,
because the sum of so few has too little noise.

The first start makes ``.venv`` and ``.venv-flower`` in the clone. The user's own Flower is not
touched, and all processes end with the script.

--sites N   how many sites to simulate (100)
--cells N   how many cells to count (1024)
--write     put the measured tables into docs/guides/flower.md
"""

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from _environment import ensure
from flower.costs import DROPOUT, app, measured_alone
from flower.environment import flower_python
from flower.federation import Config, Federation, FlowerError, Run

SITES: Final = 5  # of the deployment
NOISE: Final = "distributed-noise"
LOCAL: Final = "local"
EPSILON: Final = {NOISE: 1.0, LOCAL: 4.0}  # of each round
TIMEOUT: Final = 25  # seconds to wait for sites that may have been killed
_STAGE: Final = "Stage 3 of 4"  # what the server prints when keys are shared, and vectors are not


def main() -> None:
    """Run everything, and print what happened."""
    parser = argparse.ArgumentParser(description="The app of examples/flower on this machine.")
    parser.add_argument("--sites", type=int, default=100, metavar="N", help="default: 100")
    parser.add_argument("--cells", type=int, default=1024, metavar="N", help="default: 1024")
    parser.add_argument(
        "--write", action="store_true", help="write the tables of docs/guides/flower.md"
    )
    asked = parser.parse_args()
    if asked.sites < SITES:
        parser.error(f"--sites must be at least {SITES}")
    ensure("figures")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all processes are ended
    python = flower_python()
    with tempfile.TemporaryDirectory() as folder:
        try:
            lines = _rehearse(python, Path(folder), asked.sites, asked.cells)
        except FlowerError as error:
            sys.exit(f"dpcore: {error}")
        except KeyboardInterrupt:
            sys.exit("dpcore: stopped; all processes of Flower have ended")
    print("\n".join(lines))
    if asked.write:
        from flower.tables import write_page

        write_page(lines)


def simulate(federation: Federation, trust: str, cells: int, seed: int = -1) -> Run:
    """Run the app in Flower's simulation engine."""
    config: Config = {"trust-model": trust, "epsilon": EPSILON[trust], "cells": cells}
    return federation.run({**config, "seed": seed, "measure": True})


def deploy(python: Path, folder: Path, cells: int, killed: Sequence[int]) -> Run:
    """Run the app on SuperNodes, and kill some of them before they send their vectors.

    Parameters
    ----------
    python
        The interpreter of the environment that has Flower.
    folder
        For all files. It must not exist.
    cells
        How many cells to count.
    killed
        Which SuperNodes to kill.
    """
    with Federation(python, folder) as federation:
        for site in range(SITES):
            federation.start_site(site, SITES)

        def kill() -> None:
            for site in killed:
                federation.kill_site(site)

        config = {"cells": cells, "clients": SITES, "dropout": DROPOUT, "timeout": TIMEOUT}
        return federation.run(config, {_STAGE: kill})


def _rehearse(python: Path, folder: Path, sites: int, cells: int) -> list[str]:
    """Run everything, and return the tables."""
    from flower.million import released, secure
    from flower.tables import Measured, tables

    runs, deployed = {}, {}
    print(f"Flower simulates {sites} sites, {cells} cells:", flush=True)
    with Federation(python, folder / "simulation", sites) as federation:
        for trust, epsilon in EPSILON.items():
            runs[trust] = simulate(federation, trust, cells)
            _say(f"{trust}, epsilon = {epsilon:g} in each round", runs[trust])
    print(f"A SuperLink and {SITES} SuperNodes, of which one may drop out:", flush=True)
    for killed in ([1], [1, 3]):
        deployed[len(killed)] = deploy(python, folder / f"killed{len(killed)}", cells, killed)
        _say(f"{len(killed)} killed before sending their vectors", deployed[len(killed)])
    print("Measuring what dpcore takes alone, and what keys and masks cost.\n", flush=True)
    found = Measured(
        sites=sites,
        records=app("data").RECORDS,
        cells=cells,
        timeout=TIMEOUT,
        epsilon=EPSILON,
        runs=runs,
        alone={trust: measured_alone(trust, EPSILON[trust], sites, cells) for trust in runs},
        deployed=deployed,
        releases=released(cells, EPSILON),
        secure=secure(python, EPSILON[NOISE], cells, sites),
    )
    return tables(found)


def _say(what: str, run: Run) -> None:
    print(f"  {what}: {run.status.partition(':')[2]}, {run.seconds:.0f} seconds", flush=True)
    if run.error:
        print(f"    {run.error}", flush=True)


if __name__ == "__main__":
    main()
