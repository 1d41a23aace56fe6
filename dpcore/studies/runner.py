"""The runner: makes the missing calls on the workers of joblib, and saves the results."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from .. import _check
from .._progress import Progress
from ..errors import DpcoreError, DtypeError, ParameterError
from ..records.atomic import absolute
from ..records.files import FileError
from .calls import Made, Shipped, StudyError, ignored, make
from .keeping import Keeping
from .plan import LIMIT, Plan
from .results import Results
from .store import Store, StudyWarning, stored
from .study import MOST_SEED, Study

__all__ = ["load", "run"]

_MOST_ROWS: Final = 2**33
_ROW_BYTES: Final = 24  # the numbers of a row's cell and replicate, and one result
# joblib gives this warning if a process uses some hundred megabytes more than at its start. The
# process ends after a task, and another one replaces it. Nothing is lost, and users need not act.
_REPLACED: Final = "A worker stopped while some jobs were given to the executor"


def run(
    study: Study,
    *,
    replicates: int,
    out: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> Results:
    """Run a study, or the missing calls of it.

    Parameters
    ----------
    study
        The study to run.
    replicates
        The number of replicates of each cell; a multiple of the study's batch.
    out
        A folder for the results; None: they are only returned. If the folder holds results of an
        interrupted run, or of a run with fewer replicates or cells, only the missing calls are
        made. The folder gets ``replicates.parquet`` and ``summary.parquet``.
    seed
        The entropy of a ``numpy.random.SeedSequence``; None: the seed of the folder, or a new one.
        Each call has its own child of this seed, which depends on the labels of its cell and on
        its number. So the results are the same, bit for bit, on any number of workers and in any
        order.
    workers
        The number of processes; -1: one for each core; None: as in ``joblib.parallel_config``, or
        one process. With ``joblib.parallel_config(backend="dask")``, the workers are those of the
        cluster.
    progress
        Whether to show a progress bar with the remaining time on standard error. None: if it takes
        more than 2 seconds, and in terminals and notebooks only; elsewhere, a line every 30
        seconds.

    Returns
    -------
    Results
        ``replicates`` of each cell of the study.

    Raises
    ------
    FileError
        The folder is not writable, or holds other files with these names.
    MissingExtraError
        The extra ``studies`` is not installed.
    ParameterError
        An argument is not as above; or the folder holds another study, or another seed.
    StudyError
        A call failed; the message names it, and the folder keeps the calls that were finished
        before. Or the function, or a value that it uses, cannot be pickled and so not be sent to
        other processes. Or a worker has ended; or it has other versions of dpcore, NumPy, SciPy or
        Numba than this process.

    Warns
    -----
    StudyWarning
        The folder holds results of other code or other versions; or the function draws from
        NumPy's global generator, for example with ``np.random.normal``, so no run can repeat its
        results.

    Notes
    -----
    A call costs about 10 to 20 microseconds beyond the function, most of it for its generator. A
    run that is killed loses the task that each worker has in hand: one call, and the finished calls
    of at most two seconds before it. It also loses what came back in the last second, or in the
    last ten seconds if it has run for an hour. Processes of workers on this machine end with the
    run, also if it is killed.

    Examples
    --------
    >>> from dpcore import studies
    >>> @studies.study({"n": [100, 400]})
    ... def mean(n, rng):
    ...     return {"error": abs(rng.normal(size=n).mean())}
    >>> results = studies.run(mean, replicates=200, seed=1)
    >>> results
    Results(mean: 400 replicates of 2 cells)
    >>> results.array("error").mean(axis=-1).round(2)
    array([0.08, 0.04])
    """
    joblib: Any = _check.extra("joblib", "dpcore.studies", "studies")
    _check.extra("pyarrow", "dpcore.studies", "studies")
    _check.instance("study", study, Study, "must be a Study, as studies.study makes")
    replicates = _check.integer("replicates", replicates, 1, 2**53)
    over = replicates % study.size
    if over:
        wanted = f"must be a multiple of {study.size}, such as {replicates - over + study.size}"
        raise ParameterError("replicates", replicates, wanted)
    cells = len(study.cells)
    if replicates * cells > _MOST_ROWS:
        rows = replicates * cells
        memory, years = rows * _ROW_BYTES / 2**40, rows / study.size / 3.15e13
        wanted = (
            f"must be at most {_MOST_ROWS // cells} (cells: {cells}): the {rows:.2g} rows would "
            f"take {memory:.2g} TiB of memory, and {years:.2g} years at a microsecond for each call"
        )
        raise ParameterError("replicates", replicates, wanted)
    if seed is not None:
        seed = _check.integer("seed", seed, 0, MOST_SEED)
    if workers is not None and _check.integer("workers", workers, -(2**10), 2**20) == 0:
        raise ParameterError("workers", workers, "must not be 0")
    if progress is not None and not isinstance(progress, bool):
        raise DtypeError("progress", type(progress).__name__, "must be a bool or None")
    path = _path(out)
    shipped, count = Shipped(study), joblib.effective_n_jobs(workers)
    if count > 1 and not _are_threads():
        shipped.pack()
    with _of_workers(study):
        parallel = joblib.Parallel(workers, return_as="generator_unordered", batch_size=1)
    store = Store(path, study, seed, replicates)
    plan = Plan(store.missing, count)
    strayed = False
    total, finished = plan.calls * study.size, 0
    show = progress if total else False
    with Progress(study.name, show) as shown, Keeping(store) as keeping:
        while plan.waits:  # more than once, if calls take longer than before
            tasks = plan.tasks()
            jobs = (joblib.delayed(make)(shipped, store.seed, task, LIMIT) for task in tasks)
            with ignored(UserWarning, _REPLACED), _outcomes(study, parallel, jobs) as outcomes:
                for made in outcomes:
                    for done in made.done:
                        plan.learn(done)
                        finished += (done.chunk.stop - done.chunk.start) * study.size
                        shown.show(finished, total, seconds_left=plan.seconds_left())
                        strayed |= done.strayed
                    keeping.keep(made.done)
                    if made.error is not None:
                        raise made.error
                    plan.put_back(made.left)
    if strayed:
        message = f"{study.name} draws from np.random, and not from rng alone: no run repeats it"
        warnings.warn(message, StudyWarning, 2)
    return Results(store.whole())


def load(out: str | os.PathLike[str]) -> Results:
    """Return the results in a folder, even while a study runs or after an interruption.

    Parameters
    ----------
    out
        The folder that ``run`` was given.

    Returns
    -------
    Results
        All replicates of all cells in the folder.

    Raises
    ------
    FileError
        The folder holds no study, or one of its files cannot be read.
    MissingExtraError
        The extra ``studies`` is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from dpcore import studies
    >>> @studies.study({"n": [100, 400]})
    ... def mean(n, rng):
    ...     return {"error": abs(rng.normal(size=n).mean())}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = studies.run(mean, replicates=50, seed=1, out=folder)
    ...     again = studies.load(folder)
    >>> again.array("error").mean(axis=-1).round(2)
    array([0.07, 0.04])
    """
    _check.extra("pyarrow", "dpcore.studies", "studies")
    path = _path(out)
    if path is None:
        raise DtypeError("out", "None", "must be a folder")
    return Results(stored(path))


@contextmanager
def _outcomes(study: Study, parallel: Any, jobs: Iterator[Any]) -> Iterator[Iterator[Made]]:
    """Yield the outcomes of tasks as they come. An error ends the tasks that workers have."""
    with _of_workers(study):
        results = parallel(jobs)

    def outcomes() -> Iterator[Made]:
        while True:
            with _of_workers(study):
                made = next(results, None)
            if made is None:
                return
            yield made

    try:
        yield outcomes()
    except BaseException as error:
        results.throw(error)
        raise


@contextmanager
def _of_workers(study: Study) -> Iterator[None]:
    """Turn the errors of joblib, which are of many types, into one."""
    try:
        yield
    except DpcoreError:
        raise
    except BrokenProcessPool as error:
        raise StudyError(
            f"a worker of {study.name} has ended, perhaps because memory ran out: use fewer workers"
        ) from error
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
        raise StudyError(f"the workers of {study.name} cannot go on ({cause:.500})") from error


def _are_threads() -> bool:
    """Return whether joblib's workers are threads of this process, which need no pickling."""
    from joblib.parallel import get_active_backend

    return bool(getattr(get_active_backend()[0], "supports_sharedmem", False))


def _path(out: object) -> Path | None:
    if out is None:
        return None
    path = absolute(Path(_check.path("out", out, "must be a folder's path")))
    try:
        path.exists()  # it need not, but its name must be possible
    except OSError as error:
        raise FileError(str(path), f"cannot be read: {error.strerror or error}") from None
    return path
