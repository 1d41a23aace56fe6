"""Measuring medians of interleaved rounds, and the peak memory of a fresh process."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
from collections.abc import Callable
from statistics import quantiles
from time import perf_counter
from typing import Any

from .registry import Call, Contender, Job
from .results import Row

LEAST_ROUNDS, MOST_ROUNDS = 3, 100
ONE_ROUND, NO_ROUND = 2.0, 5.0  # budgets: a first call of more is followed by one round, or by none
SHORTEST = 2e-3  # seconds: shorter calls are timed several at a time


def measure(job: Job, size: int, budget: float, start_up: dict[str, float]) -> list[Row]:
    """Time all contenders at one size of a job, each for about ``budget`` seconds.

    They take turns, round by round, so a slow phase of the machine slows all of them. The first
    call of each is the warm-up, and its answer is compared with the other answers. If this call
    took more than ``NO_ROUND`` budgets, there are no rounds. Only the job's first contender, to
    which ratios are relative, is always timed again.
    """
    inputs = job.make(size)
    rows = [Row(job.name, size, each.name, each.kind, each.noise) for each in job.contenders]
    calls: dict[str, Call] = {}
    outcomes = {}
    for row, contender in zip(rows, job.contenders, strict=True):
        row.start_up = start_up.get(contender.name)
        if not contender.is_installed():
            row.state = "not installed"
        elif contender.largest is not None and size > contender.largest:
            row.state = "too slow at this size"
        else:
            try:
                call = contender.start(inputs)
                row.first, answer = timed(call)
                if contender.kind != "floor":
                    outcomes[contender.name] = job.outcome(inputs, answer)
                del answer
            except Exception as error:
                row.state = f"failed: {type(error).__name__}: {error}"
            else:
                calls[contender.name] = call
    wrong = job.disagreements(inputs, outcomes)
    for row in rows:
        if row.contender in wrong:
            row.state = f"disagrees: {wrong[row.contender]}"
            del calls[row.contender]
    del outcomes
    firsts = {row.contender: row.first for row in rows if row.contender in calls}
    again = {
        name: (calls[name], first)
        for name, first in firsts.items()
        if first <= NO_ROUND * budget or name == job.contenders[0].name
    }
    times = {name: [first] for name, first in firsts.items()} | interleaved(again, budget)
    for row in (row for row in rows if row.contender in times):
        found = times[row.contender]
        row.rounds = len(found)
        row.low, row.median, row.high = (
            quantiles(found, method="inclusive") if len(found) > 1 else found * 3
        )
    return rows


def in_words(budget: float) -> str:
    """Say how many rounds there are."""
    return (
        f"each for about {budget:g} s, {LEAST_ROUNDS} at least and {MOST_ROUNDS} at most; one where"
        f" a call takes more than {ONE_ROUND * budget:g} s, and none but the first call where that"
        f" takes more than {NO_ROUND * budget:g} s"
    )


def interleaved(calls: dict[str, tuple[Call, float]], budget: float) -> dict[str, list[float]]:
    """Return the seconds of each call, by name; all take turns until their budgets are spent.

    The arguments are the calls and the seconds of each first call. A contender whose first call
    took more than ``ONE_ROUND`` budgets has one round.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    spent = dict.fromkeys(calls, 0.0)
    while True:
        before = sum(spent.values())
        for name, (call, first) in calls.items():
            done = len(times[name])
            least = 1 if first > ONE_ROUND * budget else LEAST_ROUNDS
            most = least if first > budget else MOST_ROUNDS
            if done >= most or (done >= least and spent[name] >= budget):
                continue
            # A first call may be slow only because it is the first, so later rounds correct this.
            number = max(1, round(SHORTEST / min(times[name] or [first])))
            seconds, _ = timed(call, number)
            times[name].append(seconds / number)
            spent[name] += seconds
        if sum(spent.values()) == before:
            return times


def timed(call: Call, number: int = 1) -> tuple[float, Any]:
    """Return the seconds of so many calls and the last answer, without garbage collection."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        start = perf_counter()
        for _ in range(number):
            answer = call()
        return perf_counter() - start, answer
    finally:
        if was_on:
            gc.enable()


def warm_up(job: Job) -> dict[str, float]:
    """Let all contenders do the job once at a small size, and return their seconds."""
    inputs = job.make(job.small)
    seconds = {}
    for contender in job.contenders:
        begin = perf_counter()
        if contender.is_installed():
            try:
                contender.start(inputs)()
            except Exception:  # the error will show at the other sizes, with the name
                continue
            seconds[contender.name] = perf_counter() - begin
    return seconds


# --- memory


def peak_memory(job: Job, size: int, contender: Contender) -> int | None:
    """Return the peak of ``report_peak`` in a separate process; None if it cannot be measured."""
    command = [sys.executable, "-m", "benchmarks.timing", job.name, str(size), contender.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.split()
    return int(lines[-1]) if done.returncode == 0 and lines and lines[-1].isdigit() else None


def report_peak(job: Job, size: int, contender: Contender) -> None:
    """Print the largest memory in bytes, minus the memory after the inputs were made."""
    contender.start(job.make(job.small))()  # imports, kernels
    call = contender.start(job.make(size))
    gc.collect()
    rise = _peak_meter()
    call()
    print(max(0, rise()))


def _peak_meter() -> Callable[[], int]:
    """Return a function that returns the rise of the peak from now on."""
    try:  # On Linux, the peak can be reset. (ru_maxrss would start at the peak of the parent.)
        _give_back_freed_memory()
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        start = _status("VmHWM")
        return lambda: _status("VmHWM") - start
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024

        def peak() -> int:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

        before = peak()
        return lambda: peak() - before


def _give_back_freed_memory() -> None:
    """Keep the call from reusing memory that earlier work freed, which would not be counted."""
    import ctypes

    with contextlib.suppress(AttributeError):  # other C libraries than glibc
        ctypes.CDLL(None).malloc_trim(0)


def _status(field: str) -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    from .jobs import JOBS

    chosen = next(job for job in JOBS if job.name == sys.argv[1])
    report_peak(chosen, int(sys.argv[2]), chosen[sys.argv[3]])
