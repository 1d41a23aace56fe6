"""The results of a run, and the conditions of the run. benchmarks/results.json has one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from .registry import Job


@dataclass
class Row:
    """The result of one contender in one job at one size: a row of a table.

    Parameters
    ----------
    kind, noise
        The values in the registry when it was measured.
    state
        "timed", or the reason for a missing time: "not installed", "too slow at this size" (a limit
        in the registry), "failed: ...", or "disagrees: ..." (wrong answers have no time).
    start_up
        Seconds of the first use in the process, at the job's small size. They include imports, and
        loading or compiling kernels.
    first
        Seconds of the first call at this size.
    low, median, high
        Quartiles of the rounds, in seconds.
    peak
        The largest memory of the process in bytes, minus its memory after the inputs were made.
        None if it was not measured.
    """

    job: str
    size: int
    contender: str
    kind: str
    noise: str | None = None
    state: str = "timed"
    start_up: float | None = None
    first: float | None = None
    low: float | None = None
    median: float | None = None
    high: float | None = None
    rounds: int = 0
    peak: int | None = None


class Results(NamedTuple):
    """The rows of a run, and the conditions of the run."""

    machine: dict[str, str]
    command: str
    seconds: float
    rows: list[Row]

    def dump(self) -> str:
        """Return JSON."""
        parts = self._asdict() | {"rows": [asdict(row) for row in self.rows]}
        return json.dumps(parts, indent=1) + "\n"

    @classmethod
    def load(cls, text: str) -> Results:
        """Read results from a file.

        Raises
        ------
        SystemExit
            An earlier version wrote the file, and its rows lack something that tables need now.
        """
        parts: dict[str, Any] = json.loads(text)
        wanted = {field.name for field in fields(Row)}
        for row in parts["rows"]:
            if row.keys() != wanted:
                different = ", ".join(sorted(row.keys() ^ wanted))
                raise SystemExit(
                    f"results.json is of an earlier version of the benchmarks (rows differ in:"
                    f" {different}); run them all again: python scripts/bench.py"
                )
        return cls(**parts | {"rows": [Row(**row) for row in parts["rows"]]})

    def check_machine(self, about: dict[str, str]) -> None:
        """Check that another run is comparable: same machine, same versions of all packages.

        Raises
        ------
        SystemExit
            The run is not comparable. Packages that are new in it are no reason.
        """
        before, after = (
            {**each, "packages": set(each.get("packages", "").split(", "))}
            for each in (self.machine, about)
        )
        if not before["packages"] <= after["packages"]:
            gone = ", ".join(sorted(before["packages"] - after["packages"]))
            raise SystemExit(f"nothing updated: {gone} took part before; run all jobs again")
        for name in ("processor", "system", "Python"):
            if before[name] != after[name]:
                found = f"{after[name]}, and not {before[name]}"
                raise SystemExit(f"nothing updated: {name} is {found}; run all jobs again")

    def updated(self, later: Results) -> Results:
        """Return these results, with the jobs of a later run in place of the old ones."""
        self.check_machine(later.machine)
        rows, names = list(self.rows), list(dict.fromkeys(row.job for row in later.rows))
        for name in names:
            at = [i for i, row in enumerate(rows) if row.job == name]
            start = at[0] if at else len(rows)
            rows[start : start + len(at)] = [row for row in later.rows if row.job == name]
        kept = ("date", "busy", "rounds")
        dates = {key: self.machine[key] for key in kept if key in self.machine}
        again = f"{', '.join(names)} on {later.machine['date']}"
        earlier = self.machine.get("measured again")
        dates["measured again"] = f"{earlier}; {again}" if earlier else again
        return self._replace(rows=rows, machine=later.machine | dates)

    def groups(self, jobs: Iterable[Job]) -> list[tuple[Job, int, list[Row]]]:
        """Return the rows by job and size, jobs in the order of the registry."""
        grouped: dict[tuple[str, int], list[Row]] = {}
        for row in self.rows:
            grouped.setdefault((row.job, row.size), []).append(row)
        return [
            (job, size, rows)
            for job in jobs
            for (name, size), rows in grouped.items()
            if name == job.name
        ]


def ratio(row: Row, rows: list[Row]) -> float | None:
    """Return the time of a row divided by the time of the job's first contender."""
    ours = rows[0].median
    return row.median / ours if row.median is not None and ours else None
