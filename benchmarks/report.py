"""The texts of results: docs/measured/benchmarks.md, and the part between the markers in README.md.

Both come only from benchmarks/results.json and the texts of the registry. No number is written by
hand, and rows that lose are treated like rows that win.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from . import losses
from .registry import Job
from .results import Results, Row
from .tables import anchor, full, markdown, overview
from .wording import seconds_text, size_text

START, END = "<!-- benchmarks: start -->", "<!-- benchmarks: end -->"
WORTH_SAYING = 0.03  # seconds of a first use
PAGE, FASTER = "docs/measured/benchmarks.md", "Faster than dpcore, and why"
HOW_TO_READ = """\
**Times slower** is the other median divided by dpcore's median. It is in bold if the other one is
faster. **Best peer** is the fastest library with exact noise, like dpcore's, or the fastest of all
in a job without noise. If no library has exact noise, the table has the next best, and says what it
lacks; it says so for NumPy, too. *Inexact noise* is drawn in floating point, so its law is not
quite the law of the proof of privacy. *No noise* is not private at all. **The floor's share** is
the share of dpcore's time that goes to a part that nobody can avoid, which is named in brackets.
100 % would be perfect."""


def heading(job: Job, size: int) -> str:
    """Return a table's title."""
    return f"{job.title}: {size_text(size)} {job.unit}"


def start_up(rows: list[Row]) -> str:
    """Return the cost of the first use, for contenders with a large one."""
    named = [
        f"{row.contender} {seconds_text(row.start_up)}"
        for row in rows
        if (row.start_up or 0.0) > WORTH_SAYING
    ]
    if not named:
        return "Earlier jobs had already loaded everything."
    return f"First use, at a small size, with imports and compiled kernels: {', '.join(named)}."


# --- the page


def page(results: Results, jobs: Iterable[Job]) -> str:
    """Return docs/measured/benchmarks.md: page.md, filled in."""
    jobs = list(jobs)
    groups = results.groups(jobs)
    parts, last = [], None
    for job, size, rows in groups:
        if job is not last:
            last = job
            parts.append(section(job, rows))
        header, *lines = full(rows)
        parts.append(f"**{size_text(size)} {job.unit}**\n\n{markdown(header, lines)}")
    return (
        (Path(__file__).parent / "page.md")
        .read_text("utf-8")
        .format(
            overview=overview(groups),
            how_to_read=HOW_TO_READ,
            faster=FASTER,
            losses=losses.listed(results, jobs, with_reasons=True),
            machine=machine(results),
            results="\n\n".join(parts),
        )
    )


def section(job: Job, rows: list[Row]) -> str:
    """Return the text before the tables of a job."""
    between = [f"*Between us and the floor:* {job.why}"] if job.why else []
    agree = f"Answers agree: {job.agreement}. {start_up(rows)}"
    return "\n\n".join([f"### {job.title}", f"Job `{job.name}`. {agree}", *between])


def machine(results: Results) -> str:
    """Describe the run."""
    lines = {
        "command": f"`{results.command}`, {results.seconds / 60:.1f} minutes"
    } | results.machine
    return "\n".join(f"- {name}: {value}" for name, value in lines.items())


# --- the README


def summary(results: Results, jobs: Iterable[Job], names: Iterable[str]) -> str:
    """Return the README's table of these jobs, at the largest size at which a peer was timed.

    For a job without peers, it is the largest size at which NumPy was timed.
    """
    jobs = list(jobs)
    chosen = {}
    for kind in ("numpy", "peer"):
        for job, size, rows in results.groups(jobs):
            if rows[0].median and any(row.median for row in rows if row.kind == kind):
                chosen[job.name] = job, size, rows
    table = overview((chosen[name] for name in names if name in chosen), PAGE)
    made = results.machine
    how = (
        f"Medians of `{results.command}` on {made['date']}: {made['processor']}; {made['system']};"
        f" Python {made['Python']}. [{PAGE}]({PAGE}) has all jobs, and says how to read the table."
    )
    faster = (
        f"These were faster than dpcore in this run, of all jobs ([why]({PAGE}#{anchor(FASTER)})):"
    )
    listed = losses.listed(results, jobs, with_reasons=False)
    return "\n\n".join([table, how, faster, listed])


def replaced(text: str, fresh: str) -> str:
    """Return a text with a new part between its markers."""
    if text.count(START) != 1 or text.count(END) != 1 or text.index(START) > text.index(END):
        raise ValueError(f"needs {START} and {END}, once each and in this order")
    before, _, rest = text.partition(START)
    after = rest.partition(END)[2]
    return f"{before}{START}\n{fresh.strip()}\n{END}{after}"


def write(results: Results, jobs: Iterable[Job], names: Iterable[str], root: Path) -> list[Path]:
    """Write all texts and pictures, and return their paths; the README has the named jobs."""
    from . import picture

    jobs = list(jobs)
    readme, data = root / "README.md", root / "benchmarks" / "results.json"
    text, image = root / PAGE, root / "docs" / "measured" / "benchmarks.png"
    fresh = replaced(readme.read_text("utf-8"), summary(results, jobs, names))
    data.write_text(results.dump(), "utf-8")
    readme.write_text(fresh, "utf-8")
    text.write_text(page(results, jobs), "utf-8")
    picture.draw(results, image)
    return [readme, text, image, data]
