"""Shared parts of the studies in scripts/studies: their options, runs and kept results."""

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
    """The options of the command line.

    Parameters
    ----------
    runs
        Replicates of each cell; None for the number in the study itself.
    quick
        Whether to make only a few replicates, and write the pages into another folder.
    workers
        The number of processes; -1 for one per core.
    """

    runs: int | None = None
    quick: bool = False
    workers: int | None = -1


given = Given()  # scripts/study.py puts another one here


def run(study: Study, replicates: int, *, quick: int = 2) -> Results:
    """Run a study, or only its missing runs after an interruption or with more replicates.

    Parameters
    ----------
    study
        The study to run.
    replicates, quick
        Replicates of each cell for the page, and with ``--quick``. ``--runs`` overrules both. They
        are rounded up to a multiple of the study's batch.
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
    """Switch off the warnings of releases; they are off in the calls of a study anyway."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpcore.DpcoreWarning)
        yield


def replicates(results: Results) -> int:
    """Return how many replicates a cell has."""
    return int(results.table.column("replicate").to_numpy().max()) + 1


def label(study: Study) -> str:
    """Return a name for results, which changes with the study, dpcore or the data."""
    data = os.environ.get("DPCORE_DATA", "")
    whole = f"{study.digest} {_sources()} {data and os.path.abspath(data)}"
    return f"{study.name}-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"


@functools.cache
def _sources() -> str:
    """Return a digest of dpcore itself, which is not in the digest of a study."""
    home = Path(dpcore.__file__).parent
    files = {*home.rglob("*.py"), *(home / "kernels").resolve().rglob("*.py")}
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(file.read_bytes())
    return found.hexdigest()
