"""The interface of a round: what clients send, and what servers do.

``Client``, ``Server``, ``Protocol`` and the files of servers ask these, and know no trust model.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...kernels.trees import hierarchy as kernels
from ...mechanisms.base import Mechanism
from ...noise.sources import Source
from ..functions.function import Function
from ..functions.sum_noise import Shares
from . import wire
from .wire import ReportError, RoundError

__all__ = [
    "MOST_CLIENTS",
    "MOST_SERVERS",
    "AnsweringRound",
    "Counts",
    "FunctionRound",
    "Memory",
    "Round",
    "Sums",
    "VectorsRound",
    "Words",
]

MOST_CLIENTS: Final = 2**40
MOST_SERVERS: Final = 2**8
_MOST_WORDS: Final = 2**32  # of a total; rounds have fewer

Counts = NDArray[np.int64]
Words = NDArray[np.uint64]  # modulo 2^64
_Cells = TypeVar("_Cells", int, Counts)


class Sums(NamedTuple):
    """What all servers of a round have given away, added up.

    Parameters
    ----------
    totals
        (words,) uint64, modulo 2^64.
    reports
        How many clients are in the totals.
    answers
        How many clients have answered each question of ``Round.asked``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust import SecureAggregation, Sums
    >>> SecureAggregation().round(3).estimates(Sums(np.array([2, 0, 1], np.uint64), reports=3))
    array([2, 2, 3])
    """

    totals: Words
    reports: int
    answers: tuple[int, ...] = ()


class Memory(ABC):
    """What a server remembers besides sums. It does not change: methods return another one.

    ``Round.memory`` makes it, for trust models whose servers draw noise, and ``Round.given`` uses
    it. It is as secret as the reports.

    Examples
    --------
    >>> from dpcore.noise.sources import source
    >>> from dpcore.trust import FunctionSharing, Memory
    >>> memory = FunctionSharing(epsilon=1.0).round(4).memory(1, source(None))
    >>> isinstance(memory, Memory), memory.place
    (True, 1)
    """

    __slots__ = ()

    @property
    def place(self) -> int | None:
        """Which server this is, from 0; None: all servers are alike."""
        return None

    @abstractmethod
    def with_settled(self, kind: int, payloads: Mapping[bytes, bytes]) -> Memory:
        """Return the memory after reports of a kind have been settled: payloads, by id.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.noise.sources import source
        >>> from dpcore.trust import FunctionSharing
        >>> own, one = FunctionSharing(epsilon=1.0).round(4), np.array([1])
        >>> memory, payloads = own.memory(1, source(None)), own.report(one, one, source(None))
        >>> later = memory.with_settled(own.kind(1), {bytes(16): payloads[1]})
        >>> later.place, len(memory.to_bytes()), len(later.to_bytes())
        (1, 73, 129)
        """

    @abstractmethod
    def with_all_of(self, other: Memory) -> Memory:
        """Return the memory of a server that takes over another one's reports.

        Examples
        --------
        >>> from dpcore.noise.sources import source
        >>> from dpcore.trust import Central
        >>> own = Central(epsilon=1.0).round(4)
        >>> first, second = (own.memory(None, source(None)) for server in range(2))
        >>> len(first.with_all_of(second).to_bytes())
        64
        """

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return all of it as bytes, for a file; ``Round.memory_from`` reads them.

        Examples
        --------
        >>> from dpcore.noise.sources import source
        >>> from dpcore.trust import FunctionSharing
        >>> len(FunctionSharing(epsilon=1.0).round(4).memory(1, source(None)).to_bytes())
        73
        """


class Round(ABC):
    """What clients and servers do in a round of a trust model.

    A subclass defines ``report``, ``payload_bytes``, ``counted`` and ``estimates``, and ``check``
    if not every payload of the right length is one that a client sends. All else has defaults: one
    server, to which each client sends one complete report about one record.

    ``Client``, ``Server`` and ``release`` call all this. Only ``release`` charges budgets.

    Parameters
    ----------
    trust
        The trust model, with all that was not known before the round left out.
    cells
        The number of counted cells.

    Attributes
    ----------
    receivers
        The number of servers, and of reports that a client makes. If it is more than 1, reports
        wait until all servers have the client's.
    kinds
        The kinds of reports: 5 is for what the trust model says.
    least_reports, most_reports
        How many reports are needed, and how many a server takes; None: any number.
    records, most_records
        How many records are in a report, and how many of a client's records count; None: all.
    words
        How many 64-bit numbers servers give away; by default, one for each cell.
    stored_words
        How many they store: ``words``, and behind ``asked`` so many counts of answers.
    branching, starts, noise
        The tree that is counted, and the shares of noise on its levels, root first.
    asked
        How many of all clients are to answer each of several questions.
    ones
        How many ones each report about a level has; None: any number.
    exact
        The budget as text, exactly. Together with ``branching``, ``noise``, ``asked``, ``ones`` and
        the description of the trust model, it is in the digest of the round.
    servers_draw
        Whether servers make noise. Then each has a ``memory``, and, if there are several, a place.

    Examples
    --------
    >>> from dpcore.trust import SecureAggregation
    >>> own = SecureAggregation(servers=3).round(4)
    >>> own.receivers, own.words, own.least_reports, own.most_reports
    (3, 4, 1, None)
    """

    receivers: int = 1
    kinds: tuple[int, ...] = (wire.OWN,)
    least_reports: int = 1
    most_reports: int | None = None
    records: int | None = 1
    most_records: int | None = 1
    branching: tuple[int, ...] = ()
    noise: tuple[Shares | None, ...] = ()
    asked: tuple[int, ...] = ()
    ones: tuple[int | None, ...] = ()
    exact: str | None = None
    servers_draw: ClassVar[bool] = False

    def __init__(self, trust: Mechanism, cells: int) -> None:
        self.trust: Any = trust
        self.cells = _check.integer("size", cells, 1, _MOST_WORDS)
        self.starts: Counts = np.array([0, self.cells])

    @abstractmethod
    def report(self, cells: Counts, numbers: Counts, stream: Source) -> Sequence[bytes]:
        """Return a client's payload for each server.

        Parameters
        ----------
        cells, numbers
            (k,) int64: in which cells the client's records are, and how many are in each entry. In
            a round with one record in a report, one cell and the number 1.
        stream
            The source of all random bits.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SecureAggregation
        >>> from dpcore.noise.sources import source
        >>> one = np.array([1])
        >>> payloads = SecureAggregation().round(4).report(one, one, source(None))
        >>> [len(payload) for payload in payloads]  # a seed, and four words
        [32, 32]
        """

    @abstractmethod
    def payload_bytes(self, kind: int, level: int = 0) -> int:
        """Return the length of a payload; the level is for kinds whose length depends on it.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> own = SecureAggregation().round(4)
        >>> [own.payload_bytes(kind) for kind in own.kinds]
        [32, 32]
        """

    @abstractmethod
    def counted(self, kind: int, payload: bytes) -> Iterable[tuple[int, NDArray[Any]]]:
        """Return what a payload adds to the stored words: places, and numbers from each place on.

        The payload has been checked. Numbers are unsigned, and sums are modulo 2^64. Two entries
        may have the same place, but must not overlap otherwise.

        Examples
        --------
        >>> from dpcore.trust import Central
        >>> [(place, one)] = Central(epsilon=1.0).round(4).counted(5, (2).to_bytes(8, "little"))
        >>> place, one
        (2, array([1], dtype=uint64))
        """

    @abstractmethod
    def estimates(self, sums: Sums) -> Counts | NDArray[np.float64]:
        """Return cumulative counts, (cells,), from sums that have been checked.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SecureAggregation, Sums
        >>> totals = np.array([2, 0, 1], np.uint64)
        >>> SecureAggregation().round(3).estimates(Sums(totals, reports=3))
        array([2, 2, 3])
        """

    @property
    def words(self) -> int:
        """How many numbers servers give away."""
        return int(self.levels[-1].stop)

    @property
    def shared_words(self) -> int:
        """How many numbers servers add up."""
        return self.words

    @property
    def stored_words(self) -> int:
        """How many numbers servers store: the answers to each question, and what is added up."""
        return len(self.asked) + self.shared_words

    def kind(self, place: int) -> int:
        """Return the kind of report for the server at a place.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> own = SecureAggregation(servers=3).round(4)
        >>> [own.kind(place) for place in range(3)]
        [2, 2, 1]
        """
        return self.kinds[0]

    def is_for(self, kind: int, payload: bytes, place: int) -> bool:
        """Say whether a payload, which has been checked, is for the server at a place.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> own = SecureAggregation().round(4)
        >>> [own.is_for(2, bytes(32), place) for place in range(2)], own.kinds
        ([True, False], (2, 1))
        """
        return kind == self.kind(place)

    def check(self, kind: int, payload: bytes) -> None:
        """Refuse a payload that no client sends, by a ReportError for "length" or "payload".

        Examples
        --------
        >>> from dpcore.trust import ReportError, SecureAggregation
        >>> try:
        ...     SecureAggregation().round(4).check(2, bytes(31))
        ... except ReportError as error:
        ...     print(error)
        report refused (length): it has a payload of 31 bytes instead of 32
        """
        self._check_length(payload, self.payload_bytes(kind))

    def check_answers(self, answers: Sequence[int]) -> None:  # noqa: B027 (most ask nothing)
        """Refuse a release, by a RoundError, if a question that needs it has no answer.

        Examples
        --------
        >>> from dpcore.trust import Local, RoundError
        >>> own = Local(epsilon=1.0, clients=100, branching=2).round(4)
        >>> try:
        ...     own.check_answers((100, 0))
        ... except RoundError as error:
        ...     print(error, own.asked)
        no report is about the cells, the last level of the tree (15, 85)
        """

    def check_sums(self, sums: Sums) -> None:
        """Refuse sums that so many reports cannot make, by a RoundError.

        By default, answers are those of all reports, and no total is larger than their records.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import RoundError, SecureAggregation, Sums
        >>> sums = Sums(np.array([3, 4], np.uint64), reports=9)
        >>> try:
        ...     SecureAggregation().round(2).check_sums(sums)
        ... except RoundError as error:
        ...     print(str(error)[:39], 9)
        the total is not the number of reports: 9
        """
        self._check_answers(sums)
        if int(sums.totals.max(initial=0)) > self.records_in(sums):
            raise RoundError(f"a total is larger than {sums.reports} reports can make it")

    def _check_answers(self, sums: Sums) -> None:
        if sums.reports > MOST_CLIENTS:
            raise RoundError(f"the sum is of {sums.reports} reports; at most 2^40 clients report")
        if len(sums.answers) != len(self.asked) or (
            self.asked and sum(sums.answers) != sums.reports
        ):
            raise RoundError(
                f"the reports of the levels add up to {sum(sums.answers)}, but there are "
                f"{sums.reports}"
            )

    def records_in(self, sums: Sums) -> int:
        """Return the number of records in sums, which is public, empty ones included.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SecureAggregation, Sums
        >>> own = SecureAggregation(records=2).round(2)
        >>> own.records_in(Sums(np.array([3, 5], np.uint64), reports=4))
        8
        """
        return sums.reports * (self.records or 1)

    def numbers(self, totals: Words) -> Counts | NDArray[np.float64]:
        """Return the totals as ``combine`` does.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SecureAggregation
        >>> SecureAggregation().round(2).numbers(np.array([3, 2**64 - 1], np.uint64))
        array([ 3, -1])
        """
        return totals.view(np.int64)

    def mechanism(self, reports: int) -> Mechanism:
        """Return the trust model for as many clients as have reported.

        Examples
        --------
        >>> from dpcore.trust import Local
        >>> Local(epsilon=1.0, clients=1000).round(4).mechanism(900).clients
        900
        """
        return self.trust  # type: ignore[no-any-return]  # it is of the subclass's own kind

    def memory(self, place: int | None, stream: Source) -> Memory | None:
        """Return the memory of a server that begins; None: it remembers nothing but sums.

        Examples
        --------
        >>> from dpcore.trust import FunctionSharing
        >>> from dpcore.noise.sources import source
        >>> FunctionSharing(epsilon=1.0).round(4).memory(1, source(None)).place
        1
        """
        return None

    def memory_from(self, read: Callable[[int], bytes]) -> Memory | None:
        """Return a memory from a file, of which ``read`` returns the next bytes.

        Raises
        ------
        FormatError
            The file has too few bytes, or they mean nothing.

        Examples
        --------
        >>> import io
        >>> from dpcore.trust import FunctionSharing
        >>> from dpcore.noise.sources import source
        >>> own = FunctionSharing(epsilon=1.0).round(4)
        >>> data = own.memory(1, source(None)).to_bytes()
        >>> own.memory_from(io.BytesIO(data).read).place
        1
        """
        return None

    def given(self, totals: Words, memory: Memory | None, context: bytes, simulated: bool) -> Words:
        """Return the words that a server gives away at the end, the same whenever it is asked.

        Parameters
        ----------
        totals
            (shared_words,) uint64.
        memory
            The server's memory.
        context
            Bytes that no other round has, for noise.
        simulated
            Whether a generator made a report or the memory.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust import SecureAggregation
        >>> SecureAggregation().round(2).given(np.array([3, 5], np.uint64), None, b"", False)
        array([3, 5], dtype=uint64)
        """
        return totals

    def level_size(self, level: int) -> int:
        """Return the number of nodes of a level; the root is level 0.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> own = DistributedNoise(1.0, clients=1000, branching=16).round(250)
        >>> [own.level_size(level) for level in range(3)]
        [1, 16, 250]
        """
        part = self.levels[level]
        return int(part.stop - part.start)

    def node(self, cell: _Cells, level: int) -> _Cells:
        """Return the node of a level that contains a cell, or the nodes of an array of cells.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> own = DistributedNoise(1.0, clients=1000, branching=16).round(256)
        >>> [own.node(100, level) for level in range(3)]
        [0, 6, 100]
        """
        return cell // math.prod(self.branching[level:])

    @cached_property
    def levels(self) -> list[slice]:
        """The places of each level's nodes, root first."""
        starts = self.starts.tolist()
        return [slice(*ends) for ends in pairwise(starts)]

    def _least_squares(
        self, nodes: NDArray[Any], variances: NDArray[np.float64], records: int
    ) -> NDArray[np.float64]:
        """Return cumulative counts from noisy nodes; the last is the number of records."""
        out = np.empty((1, self.cells))
        branching = np.array(self.branching, np.int64)
        kernels.cumulative_estimates(nodes[np.newaxis], branching, self.starts, variances, out)
        out[0, -1] = records
        return np.asarray(out[0])

    @staticmethod
    def _check_length(payload: bytes, expected: int) -> None:
        if len(payload) != expected:
            size = len(payload)
            raise ReportError("length", f"has a payload of {size} bytes instead of {expected}")


class VectorsRound(Round):
    """A round whose clients have vectors, with their noise, that anybody may add up."""

    @abstractmethod
    def vector(self, cells: Counts, numbers: Counts, stream: Source) -> Counts:
        """Return a client's vector, (words,): see ``report``."""


class FunctionRound(Round):
    """A round about a declared function: its cells are the words of a client's vector."""

    function: Function

    @abstractmethod
    def entries(self, records: NDArray[np.float64], stream: Source) -> tuple[Counts, Counts]:
        """Return places of words, and the integers that a client's records, (n, a), add to them."""

    @abstractmethod
    def deviation(self, sums: Sums) -> NDArray[np.float64]:
        """Return the standard deviation of what ``estimates`` returns, (d,)."""


class AnsweringRound(Round):
    """A round whose servers answer questions about single cells, any number of times."""

    servers_draw: ClassVar[bool] = True

    @abstractmethod
    def shares_at(self, totals: Words, memory: Memory | None, cells: Counts) -> Words:
        """Return a server's share of the count up to each of some cells, without noise."""

    @abstractmethod
    def noise_at(
        self, memory: Memory | None, context: bytes, simulated: bool
    ) -> Callable[[Counts], Counts]:
        """Return a server's noise in the count up to each of some cells, as a function of these."""

    def added_up(self, totals: Words, memory: Memory | None) -> tuple[Words, Memory] | None:
        """Return totals and memory after all has been added up; None: it is already."""
        return None
