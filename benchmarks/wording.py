"""Numbers in a readable form."""

from __future__ import annotations

from .results import Row, ratio


def size_text(size: int) -> str:
    """Write a size, with powers of two as powers."""
    is_power = size >= 256 and size & (size - 1) == 0
    return f"2^{size.bit_length() - 1}" if is_power else f"{size:,}"


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


def ratio_text(row: Row, rows: list[Row]) -> str:
    """Write the time of a row as a multiple of the time of the job's first contender."""
    times = ratio(row, rows)
    return "" if times is None else f"{digits(times)}x" if times < 999.5 else f"{times:,.0f}x"


def share_text(share: float) -> str:
    """Write a share as a percentage, with two digits."""
    percent = 100 * share
    return f"{percent:.2g} %" if percent < 9.95 else f"{percent:.0f} %"


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
