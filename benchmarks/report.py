"""Results in words: tables for the terminal, for docs/benchmarks.md and for README.md.

All three are made of one file, benchmarks/results.json, and of nothing else: no number is written
by hand, and rows that lose are treated like those that win.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from .registry import Job, size_text
from .timing import Row

START, END = "<!-- benchmarks: start -->", "<!-- benchmarks: end -->"
WORTH_SAYING = 0.03  # seconds of a first use
HEADER = (
    "",
    "kind",
    "median",
    "a second",
    "quartiles",
    "to ours",
    "rounds",
    "first call",
    "peak memory",
)


class Results(NamedTuple):
    """A run: how it was made, and its rows."""

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
        """Read it back."""
        parts: dict[str, Any] = json.loads(text)
        return cls(**parts | {"rows": [Row(**row) for row in parts["rows"]]})

    def check_machine(self, about: dict[str, str]) -> None:
        """Check that another run is comparable: same machine, same versions of all packages.

        Raises
        ------
        SystemExit
            It is not. Packages that were not there before may be.
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
        """Return these results with the jobs of a later run in the place of theirs."""
        self.check_machine(later.machine)
        rows, names = list(self.rows), list(dict.fromkeys(row.job for row in later.rows))
        for name in names:
            at = [i for i, row in enumerate(rows) if row.job == name]
            start = at[0] if at else len(rows)
            rows[start : start + len(at)] = [row for row in later.rows if row.job == name]
        dates = {key: self.machine.get(key, "") for key in ("date", "busy")}
        again = f"{', '.join(names)} on {later.machine['date']}"
        earlier = self.machine.get("measured again")
        dates["measured again"] = f"{earlier}; {again}" if earlier else again
        return self._replace(rows=rows, machine=later.machine | dates)

    def groups(self, jobs: Iterable[Job]) -> list[tuple[Job, int, list[Row]]]:
        """Return the rows by job and size, in the order of the run."""
        known = {job.name: job for job in jobs}
        grouped: dict[tuple[str, int], list[Row]] = {}
        for row in self.rows:
            grouped.setdefault((row.job, row.size), []).append(row)
        return [
            (known[name], size, rows) for (name, size), rows in grouped.items() if name in known
        ]


# --- numbers


def seconds_text(seconds: float | None) -> str:
    """Write a duration with three digits."""
    if seconds is None:
        return ""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit or name == "us":
            return f"{digits(seconds / unit)} {name}"
    raise AssertionError


def digits(number: float) -> str:
    """Write a number of ordinary size with three digits, a small one with two."""
    if number < 0.095:
        return f"{number:.2g}"
    return f"{number:.{2 if number < 9.995 else 1 if number < 99.95 else 0}f}"


def ratio(row: Row, rows: list[Row]) -> float | None:
    """Return how many times as long as the job's first contender a row took."""
    ours = rows[0].median
    return row.median / ours if row.median is not None and ours else None


def ratio_text(row: Row, rows: list[Row]) -> str:
    """Write the ratio."""
    times = ratio(row, rows)
    return "" if times is None else f"{digits(times)}x" if times < 999.5 else f"{times:,.0f}x"


def quartiles_text(row: Row) -> str:
    """Write the spread, if there was more than one round."""
    return f"{seconds_text(row.low)} - {seconds_text(row.high)}" if row.rounds > 1 else ""


def rate_text(row: Row) -> str:
    """Write how many of a job's units were done in a second."""
    if not row.median:
        return ""
    rate = row.size / row.median
    for unit, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= unit:
            return f"{digits(rate / unit)}{name}"
    return digits(rate)


def memory_text(row: Row) -> str:
    """Write the peak memory in mebibytes."""
    return "" if row.peak is None else f"{row.peak / 2**20:.1f} MiB"


# --- tables


def cells(rows: list[Row]) -> list[tuple[str, ...]]:
    """Return a table's rows as text, under ``HEADER``."""
    return [
        (
            row.contender,
            row.kind,
            seconds_text(row.median) if row.state == "timed" else row.state,
            rate_text(row),
            quartiles_text(row),
            ratio_text(row, rows),
            str(row.rounds or ""),
            seconds_text(row.first),
            memory_text(row),
        )
        for row in rows
    ]


def plain(rows: list[Row]) -> str:
    """Return a table for the terminal."""
    lines = [HEADER, *cells(rows)]
    # A sentence (why there is no time) may run over the columns to its right.
    widths = [max(len(line[i]) for line in lines if line[5] or i < 2) for i in range(len(HEADER))]
    return "\n".join(
        "  "
        + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(header: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    header = list(header)
    written = [header, ["---"] * len(header), *lines]
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in written
    )


def heading(job: Job, size: int) -> str:
    """Return a table's title."""
    return f"{job.title}: {size_text(size)} {job.unit}"


def start_up(rows: list[Row]) -> str:
    """Say what the first use cost, for those who load much."""
    named = [
        f"{row.contender} {seconds_text(row.start_up)}"
        for row in rows
        if (row.start_up or 0.0) > WORTH_SAYING
    ]
    if not named:
        return "Nothing had to be loaded that earlier jobs had not."
    return f"First use, at a small size, with imports and compiled kernels: {', '.join(named)}."


# --- the page


def page(results: Results, jobs: Iterable[Job]) -> str:
    """Return docs/benchmarks.md: page.md, filled in."""
    jobs = list(jobs)
    parts, last = [], None
    for job, size, rows in results.groups(jobs):
        if job is not last:
            last = job
            parts.append(f"### {job.title}\n\nAnswers agree: {job.agreement}. {start_up(rows)}")
        parts.append(f"**{size_text(size)} {job.unit}**\n\n{markdown(HEADER, cells(rows))}")
    return (
        (Path(__file__).parent / "page.md")
        .read_text("utf-8")
        .format(machine=machine(results), losses=losses(results, jobs), results="\n\n".join(parts))
    )


def machine(results: Results) -> str:
    """Describe the run."""
    lines = {
        "command": f"`{results.command}`, {results.seconds / 60:.1f} minutes"
    } | results.machine
    return "\n".join(f"- {name}: {value}" for name, value in lines.items())


def losses(results: Results, jobs: Iterable[Job]) -> str:
    """Say who was faster than ours, at which sizes, floors and ourselves apart."""
    faster: dict[str, dict[str, list[str]]] = {}
    for job, size, rows in results.groups(jobs):
        for row in rows:
            if row.kind in ("peer", "numpy") and (ratio(row, rows) or 1.0) < 1.0:
                found = faster.setdefault(job.title, {}).setdefault(row.contender, [])
                found.append(f"{ratio_text(row, rows)} at {size_text(size)}")
    if not faster:
        return "In this run nobody was faster than dpcore."
    lines = [
        f"- {title}: " + "; ".join(f"{name} ({', '.join(at)})" for name, at in names.items())
        for title, names in faster.items()
    ]
    return "Faster than dpcore in this run (their time over ours):\n\n" + "\n".join(lines)


# --- the README


def summary(results: Results, jobs: Iterable[Job]) -> str:
    """Return the README's table: each job at the largest size at which somebody else was timed."""
    jobs = list(jobs)
    chosen = {}
    for job, size, rows in results.groups(jobs):
        if rows[0].median and any(row.median for row in rows if row.kind in ("peer", "numpy")):
            chosen[job.name] = job, size, rows
    lines = [
        (
            heading(job, size),
            f"{rows[0].contender}: {seconds_text(rows[0].median)}",
            *(fastest(rows, kind) for kind in ("peer", "numpy", "floor")),
        )
        for job, size, rows in chosen.values()
    ]
    table = markdown(("job", "ours", "fastest peer", "NumPy, SciPy", "floor"), lines)
    made = results.machine
    how = (
        f"Medians, and how many times ours they are: below 1x, dpcore is slower. Written by "
        f"`{results.command}` on {made['date']}: {made['processor']}; {made['system']}; "
        f"Python {made['Python']}."
    )
    picture = "![Time against size: ours, peers, floor](docs/benchmarks.png)"
    return f"{table}\n\n{how}\n\n{losses(results, jobs)}\n\n{picture}"


def fastest(rows: list[Row], kind: str) -> str:
    """Name the fastest row of a kind; for a floor, the first one, which is the job's own."""
    timed = [row for row in rows if row.kind == kind and row.median is not None]
    if not timed:
        return ""
    row = timed[0] if kind == "floor" else min(timed, key=lambda row: row.median)
    return f"{row.contender}: {seconds_text(row.median)}, {ratio_text(row, rows)}"


def replaced(text: str, fresh: str) -> str:
    """Return a text with what is between the markers replaced."""
    if text.count(START) != 1 or text.count(END) != 1 or text.index(START) > text.index(END):
        raise ValueError(f"needs {START} and {END}, once each and in this order")
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    return f"{before}{START}\n{fresh.strip()}\n{END}{after}"


def write(results: Results, jobs: Iterable[Job], root: Path) -> list[Path]:
    """Write all that is made of results, and return where."""
    from . import picture

    jobs = list(jobs)
    readme, data = root / "README.md", root / "benchmarks" / "results.json"
    text, image = root / "docs" / "benchmarks.md", root / "docs" / "benchmarks.png"
    fresh = replaced(readme.read_text("utf-8"), summary(results, jobs))
    data.write_text(results.dump(), "utf-8")
    readme.write_text(fresh, "utf-8")
    text.write_text(page(results, jobs), "utf-8")
    picture.draw(results, image)
    return [readme, text, image, data]
