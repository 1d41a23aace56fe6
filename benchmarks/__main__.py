"""The benchmark run, which ``python scripts/bench.py`` starts after it has set up."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from . import losses, machine, report, tables
from .jobs import JOBS, README
from .registry import Job
from .results import Results, Row
from .timing import NO_ROUND, in_words, measure, peak_memory, warm_up
from .wording import memory_text, size_text

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results.json"
BUDGET, QUICK_BUDGET = 1.0, 0.2  # seconds of rounds for each contender at each size


def main() -> int:
    """Measure, print, and write; return 1 if a contender's answer was wrong."""
    arguments = parsed()
    if arguments.render:
        results = Results.load(RESULTS.read_text("utf-8"))
        written(results)
        return 0
    jobs = tuple(job for job in JOBS if not arguments.job or job.name in arguments.job)
    before = Results.load(RESULTS.read_text("utf-8")) if arguments.update else None
    began = perf_counter()
    about = machine.describe(JOBS if arguments.update else jobs)
    about["rounds"] = in_words(QUICK_BUDGET if arguments.quick else BUDGET)
    print("\n".join(f"{name}: {value}" for name, value in about.items()), flush=True)
    if before is not None:
        before.check_machine(about)  # before a run of minutes
    rows: list[Row] = []
    for job in jobs:
        memory = arguments.memory and not (arguments.quick or arguments.size)
        rows += run(job, arguments.quick, memory, arguments.size)
    command = "python scripts/bench.py" + (" --quick" if arguments.quick else "")
    results = Results(about, command, perf_counter() - began, rows)
    print(f"\nFaster than dpcore:\n\n{losses.listed(results, JOBS, with_reasons=True)}")
    for who in losses.unstated(results, JOBS):
        print(f"NO REASON STATED in benchmarks/reasons.toml: {who}")
    for who in losses.unneeded(results, JOBS):
        print(f"Not faster in this run, but has a reason in benchmarks/reasons.toml: {who}")
    print(f"\n{results.seconds:.0f} seconds in all")
    wrong = any(row.state.startswith("disagrees") for row in rows)
    if before is not None:
        if not wrong:
            written(before.updated(results))
    elif arguments.job:
        print("Nothing written: not all jobs were run.")
    elif arguments.write:
        written(results)
    return 1 if wrong else 0


def run(job: Job, quick: bool, memory: bool, sizes: Sequence[int] = ()) -> list[Row]:
    """Do a job at its sizes, or at the requested sizes, and print each table when it is ready."""
    start_up = warm_up(job)
    groups = []
    for size in sizes or (job.quick if quick else job.sizes):
        rows = measure(job, size, QUICK_BUDGET if quick else BUDGET, start_up)
        groups.append(rows)
        print(f"\n{report.heading(job, size)}\n{tables.plain(rows)}", flush=True)
    rows = [row for rows in groups for row in rows]
    if memory and job.memory is not None:
        for row in rows:
            if row.size == job.memory and is_measured_for_memory(row):
                row.peak = peak_memory(job, row.size, job[row.contender])
        peaks = [row for row in rows if row.peak is not None]
        named = ", ".join(f"{row.contender} {memory_text(row)}" for row in peaks)
        print(f"  Peak memory at {size_text(job.memory)} {job.unit}: {named}", flush=True)
    print(f"  {report.start_up(groups[0])}", flush=True)
    return rows


def is_measured_for_memory(row: Row) -> bool:
    """Say whether it is worth another call, in a process of its own; floors are none."""
    return row.median is not None and row.median <= NO_ROUND * BUDGET and row.kind != "floor"


def written(results: Results) -> None:
    """Write everything, and print the paths."""
    for path in report.write(results, JOBS, README, ROOT):
        print(f"wrote {path.relative_to(ROOT)}")


def parsed() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="scripts/bench.py", description=__doc__)
    names = [job.name for job in JOBS]
    parser.add_argument("--quick", action="store_true", help="fewer and smaller sizes")
    parser.add_argument("--job", nargs="+", choices=names, default=[], help="only these jobs")
    parser.add_argument(
        "--size", nargs="+", type=int, default=[], help="with --job: only these sizes"
    )
    parser.add_argument(
        "--update", action="store_true", help="with --job: put the new times into the tables"
    )
    parser.add_argument("--no-write", dest="write", action="store_false", help="print only")
    parser.add_argument("--no-memory", dest="memory", action="store_false", help="times only")
    parser.add_argument(
        "--render",
        action="store_true",
        help="measure nothing, write the pages again from the last results",
    )
    arguments = parser.parse_args()
    if arguments.size and (not arguments.job or arguments.update or min(arguments.size) < 10**5):
        parser.error("--size is of 10^5 or more, for jobs that --job names, and not for tables")
    if arguments.update and (not arguments.job or arguments.quick):
        parser.error("--update is for jobs that --job names, in full")
    if arguments.update and not (arguments.write and arguments.memory):
        parser.error("--update writes, and with memory")
    return arguments


if __name__ == "__main__":
    raise SystemExit(main())
