"""Shared parts of the studies in scripts/studies: how often they run, where results are kept."""

import contextlib
import functools
import hashlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from _environment import ROOT

import dpcore
from dpcore import studies
from dpcore.studies import Results, Study

__all__ = ["KEPT", "Given", "label", "quietly", "replicates", "run"]

KEPT = ROOT / ".studies"
SEED = 1


class Given(NamedTuple):
    """What was asked for.

    Parameters
    ----------
    runs
        Replicates of each cell; None: as many as the study is written with.
    quick
        Whether few of them are enough; pages then go elsewhere.
    workers
        Processes; -1: one for each core.
    """

    runs: int | None = None
    quick: bool = False
    workers: int | None = -1


given = Given()  # scripts/study.py puts another one here


def run(study: Study, replicates: int, *, quick: int = 2) -> Results:
    """Run a study, or what is missing of it since it was interrupted or had fewer replicates.

    Parameters
    ----------
    study
        What to run.
    replicates, quick
        Of each cell: for the page, and with ``--quick``; ``--runs`` overrules both. Rounded up to
        what the study makes at a time.
    """
    wished = given.runs or (quick if given.quick else replicates)
    return studies.run(
        study,
        replicates=-(-wished // study.size) * study.size,
        out=KEPT / label(study),
        seed=SEED,
        workers=given.workers,
    )


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Let releases warn nobody; in the calls of a study, they do not in any case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpcore.DpcoreWarning)
        yield


def replicates(results: Results) -> int:
    """Return how many replicates a cell has."""
    return int(results.table.column("replicate").to_numpy().max()) + 1


def label(study: Study) -> str:
    """Return a name for results that holds as long as study, dpcore and the data are the same."""
    data = os.environ.get("DPCORE_DATA", "")
    whole = f"{study.digest} {_sources()} {data and os.path.abspath(data)}"
    return f"{study.name}-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"


@functools.cache
def _sources() -> str:
    """Return a digest of dpcore itself, which the digest of a study leaves out."""
    home = Path(dpcore.__file__).parent
    files = {*home.rglob("*.py"), *(home / "kernels").resolve().rglob("*.py")}
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(file.read_bytes())
    return found.hexdigest()
