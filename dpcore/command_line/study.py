"""``dpcore study``: a Monte Carlo study is run, and what it comes to is shown."""

from __future__ import annotations

import argparse
import signal
import threading
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final

from .. import _check, studies
from ..records.atomic import absolute
from ..studies import Results, Study, StudyError, files
from .arguments import UsageError
from .options import Command, given, option
from .shared_options import QUIET
from .study_reports import study_list, study_summary
from .study_settings import changed

__all__ = ["COMMAND"]

_REPLICATES: Final = 100  # with so many, a mean is known to a tenth of a deviation


def _run(options: argparse.Namespace) -> str:
    if options.list:
        return study_list(_listed(options.study))
    if options.study is None:
        raise UsageError("STUDY is required: a name from dpcore study --list, or FILE.py")
    for module in ("joblib", "cloudpickle", "pyarrow", "tqdm"):
        _check.extra(module, "dpcore study", "studies")
    level = _check.proportion("level", options.level)
    study = changed(files.find(options.study), options.set)
    results = _results(study, options)
    return study_summary(results, level, options.out)


def _listed(study: str | None) -> dict[str, Study]:
    """Return all studies that come with dpcore, the studies of a file, or the named study."""
    if study is None:
        return {name: files.find(name) for name in files.names()}
    return files.in_file(study) if study.endswith(".py") else {study: files.find(study)}


def _results(study: Study, options: argparse.Namespace) -> Results:
    own: dict[str, Any] = given(options, studies.run)
    own |= {"study": study, "progress": False if options.quiet else None}
    if options.replicates is None:
        own["replicates"] = -(-_REPLICATES // study.size) * study.size
    try:
        _start_workers(options.workers)
        return studies.run(**own)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(*_kept(options.out)) from None
    except StudyError as error:
        if not isinstance(error.__cause__, BrokenProcessPool):
            raise
        said = ["a worker has ended, perhaps because memory ran out: use fewer --workers"]
        raise UsageError("; ".join([*said, *_kept(options.out)])) from None


def _start_workers(workers: int) -> None:
    """Start the workers while interrupts are ignored, so that the workers ignore them, too.

    A terminal interrupts all processes of a command, and workers would end with tracebacks.
    """
    import joblib

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or workers == 0 or joblib.effective_n_jobs(workers) == 1:
        return
    absolute(Path())  # where workers start
    parallel = joblib.Parallel(workers, return_as="generator")
    listened = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # The workers have started, or are about to.
        started = parallel(joblib.delayed(int)() for _ in range(2))
    finally:
        signal.signal(signal.SIGINT, listened)
    list(started)


def _kept(out: Path | None) -> list[str]:
    """Return a message about the results that were kept, if there are any."""
    if out is None or not any([*out.glob("*.parquet"), *out.glob("parts/*.parquet")]):
        return []
    return [f"what was done is kept in {str(out)!r}; the same command goes on"]


COMMAND: Final = Command(
    _run,
    "Run a Monte Carlo study that comes with dpcore, or one in your own Python file, and show the "
    "means of its results with their intervals. For one seed, the numbers are the same, bit for "
    "bit, on any number of workers. Studies simulate: their results do not protect the records "
    "that they use.",
    functions=(studies.run,),
    options={
        "study": option(
            "a name from --list; or FILE.py; or FILE.py:NAME, if the file has several studies",
            "STUDY",
            flag="study",
            nargs="?",
        ),
        "list": option(
            "list all studies, or describe STUDY, with their parameters; run nothing",
            action="store_true",
        ),
        "replicates": option(
            f"number of replicates of each combination of parameters ({_REPLICATES}, or "
            "the next multiple of the study's batch)",
            required=False,
        ),
        "set": option(
            "other values for a parameter: numbers, or labels that the study knows; repeat "
            "it for other parameters",
            "P=V,...",
            action="append",
            default=[],
        ),
        "out": option(
            "keep the results as Parquet files in this folder, and continue from its results", "DIR"
        ),
        "seed": option("seed of all generators (that of DIR, or a new one)"),
        "workers": option("number of processes (one per core)", default=-1),
        "progress": None,  # but for --quiet
        "level": option("level of the intervals of means (0.95)", "L", float, default=0.95),
        "quiet": QUIET,
    },
)
