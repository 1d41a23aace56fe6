"""Pages of the documentation that scripts write: tables in Markdown, and where they go."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from _environment import ROOT

START, END = "<!-- study: start -->", "<!-- study: end -->"


def line(*cells: object) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a table: its head, and a line for each row."""
    return [line(*head), "|---" * len(head) + "|", *(line(*row) for row in rows)]


def write(name: str, lines: Iterable[str]) -> Path:
    """Write a page of docs/, say where, and return it."""
    page = ROOT / "docs" / name
    page.write_text("\n".join(lines).rstrip("\n") + "\n", "utf-8")
    return said(page)


def fill(name: str, lines: Iterable[str]) -> Path:
    """Write into the place that a page of docs/ keeps for a script, say where, and return it."""
    page = ROOT / "docs" / name
    before, _, rest = page.read_text("utf-8").partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{page} has no place for tables: {START} ... {END}")
    page.write_text("\n".join([before + START, *lines, END]) + after, "utf-8")
    return said(page)


def said(path: Path) -> Path:
    """Say what was written, and return it."""
    print(f"written: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return path
