"""The tables of a rehearsal with Flower, for docs/guides/flower.md and for the terminal."""

import os
import platform
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final, NamedTuple

from _environment import ROOT
from _pages import table, write

from .costs import DROPOUT, Alone
from .federation import Run
from .million import Release, Site, of_million

START, END = "<!-- flower: start -->", "<!-- flower: end -->"
_PAGE: Final = "guides/flower.md"
_ROUNDS: Final = ("cdf", "roc")
_WHOLE, _REPORT = "all of the round", "its report alone"
_UP, _DOWN, _SECONDS, _ELAPSED = "bytes up", "bytes down", "CPU seconds", "elapsed"

Costs = dict[str, dict[str, float]]  # of a stage, of a kind: means of a client


class Measured(NamedTuple):
    """All that a rehearsal has measured; runs are by trust model, or by how many were killed."""

    sites: int
    records: int
    cells: int
    timeout: float
    epsilon: dict[str, float]
    runs: dict[str, Run]
    alone: dict[str, Alone]
    deployed: dict[int, Run]
    releases: Sequence[Release]
    secure: dict[str, Any]


def tables(found: Measured) -> list[str]:
    """Return all tables, in Markdown."""
    costs = {trust: costs_of(run) for trust, run in found.runs.items()}
    noise, local = costs["distributed-noise"][_WHOLE], costs["local"][_WHOLE]
    sizes = noise[_UP], noise[_DOWN], noise[_REPORT], local[_REPORT]
    site = Site(*sizes, found.records / found.sites)
    return [
        *_of_messages(found, costs),
        "",
        *_of_runs(found, costs),
        "",
        *_of_deployment(found),
        "",
        *of_million(found.secure, found.releases, site),
    ]


def write_page(lines: Sequence[str]) -> None:
    """Put lines into the place that the page keeps for them."""
    page = ROOT / "docs" / _PAGE
    before, start, rest = page.read_text("utf-8").partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"{page} must have a place for the tables: {START} ... {END}")
    write(_PAGE, "\n".join([before + START, "", *lines, "", END + after]).split("\n"))


def costs_of(run: Run) -> Costs:
    """Return what the app has measured, as means over both rounds."""
    first, second = (run.read(f"{name}-costs.json") for name in _ROUNDS)
    return {
        stage: {kind: fmean((mean, second[stage][kind])) for kind, mean in of_stage.items()}
        for stage, of_stage in first.items()
    }


def _of_messages(found: Measured, costs: dict[str, Costs]) -> list[str]:
    rows: list[tuple[str, ...]] = []
    for trust, of_trust in costs.items():
        stages = [stage for stage in of_trust if stage != _WHOLE]
        several = len(stages) > 1
        for stage in [*stages, _WHOLE] if several else [_WHOLE]:
            mean = of_trust[stage]
            sizes = f"{mean[_DOWN]:,.0f}", f"{mean[_UP]:,.0f}"
            rows.append((trust, stage, *sizes, f"{mean[_SECONDS]:.3f}"))
        what = "the masked vector alone" if several else "the reports alone"
        rows.append((trust, what, "", f"{of_trust[_WHOLE][_REPORT]:,.0f}", ""))
    budgets = " or ".join(f"{found.epsilon[trust]:g} ({trust})" for trust in costs)
    versions = ", ".join(f"{k} {v}" for k, v in found.secure["versions"].items())
    return [
        f"**A client in a round**, measured. {found.sites} simulated sites with {found.records:,}"
        f" records together, {found.cells:,} cells, epsilon = {budgets} in each round. {versions};"
        f" {os.cpu_count()} processors, {platform.machine()}. These are means over the sites and"
        " over both rounds. Bytes are those of the contents of messages, without the app, which"
        " Flower sends once. Seconds are of one processor, with keys, masks and the reading of"
        " records.",
        "",
        *table(("trust model", "stage", "bytes down", "bytes up", "seconds"), rows),
    ]


def _of_runs(found: Measured, costs: dict[str, Costs]) -> list[str]:
    rows = []
    for trust, run in found.runs.items():
        whole, alone = costs[trust][_WHOLE], found.alone[trust]
        rounds = len(_ROUNDS) * whole[_ELAPSED]
        work = len(_ROUNDS) * found.sites * whole[_SECONDS]
        shown = (f"{seconds:.1f}" for seconds in (run.seconds, rounds, work))
        rows.append((trust, *shown, f"{alone.sites:.2f}", f"{alone.server:.3f}"))
    head = ("trust model", "run", "both rounds", "all sites", "dpcore, sites", "dpcore, server")
    return [
        "**A run with these sites**, measured, in seconds. *Run* and *both rounds* are time that"
        " passes. *All sites* is the work of all sites in both rounds, in seconds of one processor."
        " The last two columns are what dpcore takes for the same rounds in one process, without"
        " Flower. The rest is Flower's: it starts its engine, carries messages, and makes and"
        " combines shares of keys.",
        "",
        *table(head, rows),
    ]


def _of_deployment(found: Measured) -> list[str]:
    rows = []
    for killed, run in found.deployed.items():
        said = f"the run fails: {run.error}"
        if run.succeeded:
            mechanism = run.read("cdf.json")["mechanism"]
            said = f"released, with {mechanism['reporting']} of {mechanism['clients']} sites"
        rows.append((killed, said, f"{run.seconds:.0f}"))
    return [
        "**Five SuperNodes as processes**, of which some are killed after they have shared their"
        f" keys and before they send their vectors. dropout = {DROPOUT:g}, so four are required. In"
        f" each stage the server waits {found.timeout:g} seconds for those who do not answer.",
        "",
        *table(("killed", "what happens", "seconds"), rows),
    ]
