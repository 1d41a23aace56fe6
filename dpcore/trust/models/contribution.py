"""How many records of a client count, and the guarantees for one of them and for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ... import _check
from ...errors import ParameterError
from ...privacy.guarantees import Privacy
from ..protocol.rounds import MOST_CLIENTS

__all__ = ["check_one_record", "for_client", "most_records"]

_MOST_SLOTS: Final = 2**46  # sums in fine units fit 64 bits


def most_records(records: object, clients: int = MOST_CLIENTS) -> int:
    """Return how many records of a client count, checked."""
    return _check.integer("records", records, 1, _MOST_SLOTS // clients)


def for_client(privacy: Privacy, records: int) -> Privacy:
    """Return a guarantee as one for a client with so many records."""
    return privacy if records == 1 else replace(privacy, neighbours="replace-client")


def check_one_record(records: int | None) -> None:
    """Check that sums of functions are of one record a client, or of all of its records."""
    if records not in (None, 1):
        what = "must be of one record a client, or records=None, to sum functions"
        raise ParameterError("trust", f"records={records}", what)
