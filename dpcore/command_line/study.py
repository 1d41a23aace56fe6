"""``dpcore study``: a Monte Carlo study is run, and what it comes to is shown."""

from __future__ import annotations

import argparse
import signal
import threading
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from .. import _check, studies
from ..studies import Results, Study, StudyError, files
from .arguments import UsageError
from .study_options import REPLICATES
from .study_reports import study_list, study_summary
from .study_settings import changed

__all__ = ["run_study"]


def run_study(options: argparse.Namespace) -> str:
    """Run a study or its missing calls, and return its results as text; or list studies."""
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
    replicates = options.replicates
    if replicates is None:
        replicates = -(-REPLICATES // study.size) * study.size
    try:
        _start_workers(options.workers)
        return studies.run(
            study,
            replicates=replicates,
            out=options.out,
            seed=options.seed,
            workers=options.workers,
            progress=False if options.quiet else None,
        )
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
