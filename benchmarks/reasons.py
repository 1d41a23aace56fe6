"""The reasons in reasons.toml for the speed of jobs and contenders, added to the registry."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from .registry import Job

FILE = Path(__file__).parent / "reasons.toml"


def explained(jobs: Iterable[Job], text: str | None = None) -> tuple[Job, ...]:
    """Return the jobs with their reasons, from a text like reasons.toml, or from that file.

    Raises
    ------
    ValueError
        There is a reason for a job or a contender that does not exist.
    """
    jobs = tuple(jobs)
    reasons = tomllib.loads(FILE.read_text("utf-8") if text is None else text)
    if unknown := reasons.keys() - {job.name for job in jobs}:
        raise ValueError(f"reasons for jobs that do not exist: {', '.join(sorted(unknown))}")
    return tuple(_with_reasons(job, reasons.get(job.name, {})) for job in jobs)


def _with_reasons(job: Job, reasons: dict) -> Job:
    faster = reasons.get("faster", {})
    unknown = reasons.keys() - {"floor", "faster"}
    unknown |= faster.keys() - {each.name for each in job.contenders}
    if unknown:
        raise ValueError(
            f"reasons in {job.name} for contenders that do not exist: {sorted(unknown)}"
        )
    contenders = tuple(
        replace(each, why=_one_line(faster.get(each.name, ""))) for each in job.contenders
    )
    return replace(job, why=_one_line(reasons.get("floor", "")), contenders=contenders)


def _one_line(text: str) -> str:
    return " ".join(text.split())
