"""The tables of a run: full tables of each job, and a short table of all jobs."""

from __future__ import annotations

from collections.abc import Iterable

from .registry import Job
from .results import Row, ratio
from .wording import (
    memory_text,
    quartiles_text,
    rate_text,
    ratio_text,
    seconds_text,
    share_text,
    size_text,
)

HEADER = (
    "",
    "kind",
    "noise",
    "median",
    "a second",
    "quartiles",
    "to ours",
    "rounds",
    "first call",
    "peak memory",
)
OVERVIEW = (
    "job",
    "dpcore, median",
    "best peer: times slower",
    "NumPy, SciPy: times slower",
    "the floor's share",
)
MARKS = {"inexact": "inexact noise", "none": "no noise: not private"}
RANKS = {"inexact": 1, "none": 2}  # the order of comparison: exact noise comes first


def markdown(header: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    header = list(header)
    written = [header, ["---"] * len(header), *lines]
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in written
    )


# --- a job at a size, in full


def full(rows: list[Row]) -> list[tuple[str, ...]]:
    """Return the lines of a table, header first, with a column for noise if there is any."""
    lines = [HEADER, *(_cells(row, rows) for row in rows)]
    if any(row.noise for row in rows):
        return lines
    at = HEADER.index("noise")
    return [line[:at] + line[at + 1 :] for line in lines]


def _cells(row: Row, rows: list[Row]) -> tuple[str, ...]:
    return (
        row.contender,
        row.kind,
        row.noise or "",
        seconds_text(row.median) if row.state == "timed" else row.state,
        rate_text(row),
        quartiles_text(row),
        ratio_text(row, rows),
        str(row.rounds or ""),
        seconds_text(row.first),
        memory_text(row),
    )


def plain(rows: list[Row]) -> str:
    """Return a table for the terminal."""
    lines = full(rows)
    median = lines[0].index("median")
    # The reason for a missing time is a sentence, and may run over the columns to its right.
    widths = [
        max(len(line[i]) for line in lines if line[median + 1] or i < median)
        for i in range(len(lines[0]))
    ]
    return "\n".join(
        "  "
        + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


# --- all jobs, in short


def overview(groups: Iterable[tuple[Job, int, list[Row]]], page: str = "") -> str:
    """Return the table of jobs, in Markdown: a line for each of these jobs and sizes.

    Titles are links to the sections of a page. Without a name, it is the page of the table.
    """
    return markdown(OVERVIEW, [_line(job, size, rows, page) for job, size, rows in groups])


def _line(job: Job, size: int, rows: list[Row], page: str) -> tuple[str, ...]:
    ours = rows[0]
    how = ours.contender.removeprefix("dpcore").removeprefix(", ")
    time = seconds_text(ours.median) if ours.median else ours.state
    return (
        f"[{job.title}]({page}#{anchor(job.title)})",
        f"{time} for {size_text(size)} {job.unit}" + (f" ({how})" if how else ""),
        times_slower(rows, "peer"),
        times_slower(rows, "numpy"),
        floor_share(rows),
    )


def anchor(title: str) -> str:
    """Return the anchor of a heading: its letters and digits, with hyphens for spaces."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def best(rows: list[Row], kind: str) -> Row | None:
    """Return the fastest row of a kind, with inexact noise only if none has exact noise."""
    timed = [row for row in rows if row.kind == kind and row.median]
    return min(timed, key=lambda row: (RANKS.get(row.noise or "", 0), row.median), default=None)


def times_slower(rows: list[Row], kind: str) -> str:
    """Return how many times slower the best of a kind is, its name, and what its noise lacks."""
    row = best(rows, kind)
    times = None if row is None else ratio(row, rows)
    if row is None or times is None:
        return ""
    who = f"{row.contender}; {MARKS[row.noise]}" if row.noise in MARKS else row.contender
    text = ratio_text(row, rows)
    return f"{text} ({who})" if times >= 1.0 else f"**{text}** ({who})"


def floor_share(rows: list[Row]) -> str:
    """Return the time of the job's first floor as a share of our time."""
    floors = [row for row in rows if row.kind == "floor" and row.median]
    share = ratio(floors[0], rows) if floors else None
    return "" if share is None else f"{share_text(share)} ({floors[0].contender})"
