"""The contenders that were faster than dpcore in a run, and the stated reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .registry import Job
from .results import Results, Row, ratio
from .wording import ratio_text, size_text

GROUPS = (
    (("exact", None), "With exact noise, as dpcore, or in jobs without noise"),
    (("inexact",), "With inexact noise"),
    (("none",), "Without the noise that makes dpcore's answer private"),
)
UNCLEAR = "The quartiles overlap, so this run cannot tell them apart."
UNSTATED = "**No reason is stated.** It belongs in benchmarks/reasons.toml."


class Loss(NamedTuple):
    """A contender, neither a floor nor ours, that was faster than dpcore.

    Parameters
    ----------
    row
        The row of the largest size at which it was faster.
    at
        How fast it was, by size, in words.
    is_clear
        Whether its upper quartile was below our lower one, at some size.
    """

    job: Job
    row: Row
    at: str
    is_clear: bool

    @property
    def stated(self) -> str:
        """The reason in the registry; empty if there is none."""
        return next(
            (each.why for each in self.job.contenders if each.name == self.row.contender), ""
        )

    @property
    def reason(self) -> str:
        """The reason, or a warning that there is none."""
        return (self.stated or UNSTATED) if self.is_clear else UNCLEAR


def losses(results: Results, jobs: Iterable[Job]) -> list[Loss]:
    """Return the contenders that were faster than our first one, in the order of the registry."""
    found: dict[tuple[str, str], list[tuple[Job, int, Row, list[Row]]]] = {}
    for job, size, rows in results.groups(jobs):
        for row in rows:
            if row.kind in ("peer", "numpy") and (ratio(row, rows) or 1.0) < 1.0:
                found.setdefault((job.name, row.contender), []).append((job, size, row, rows))
    lost = []
    for cases in found.values():
        at = ", ".join(f"{ratio_text(row, rows)} at {size_text(n)}" for _, n, row, rows in cases)
        is_clear = any(row.high < rows[0].low for _, _, row, rows in cases)
        lost.append(Loss(cases[-1][0], cases[-1][2], f"{at} {cases[-1][0].unit}", is_clear))
    return lost


def unstated(results: Results, jobs: Iterable[Job]) -> list[str]:
    """Return, in words, who was clearly faster without a stated reason. There should be nobody."""
    return [
        f"{loss.job.name}: {loss.row.contender}"
        for loss in losses(results, jobs)
        if loss.is_clear and not loss.stated
    ]


def unneeded(results: Results, jobs: Iterable[Job]) -> list[str]:
    """Return, in words, which contenders have a stated reason but were not faster in this run."""
    jobs = list(jobs)
    used = {(loss.job.name, loss.row.contender) for loss in losses(results, jobs)}
    took_part = {(row.job, row.contender) for row in results.rows}
    return [
        f"{job.name}: {each.name}"
        for job in jobs
        for each in job.contenders
        if each.why and (job.name, each.name) in took_part - used
    ]


def listed(results: Results, jobs: Iterable[Job], with_reasons: bool) -> str:
    """Return the list in Markdown, with separate parts for exact and inexact contenders."""
    found = losses(results, jobs)
    parts = []
    for noises, who in GROUPS:
        lines = [
            f"- {loss.job.title}: {loss.row.contender} ({loss.at})"
            + (f". {loss.reason}" if with_reasons else "")
            for loss in found
            if loss.row.noise in noises
        ]
        parts.append(f"{who}:\n\n" + "\n".join(lines) if lines else f"{who}: nobody.")
    return "\n\n".join(parts)
