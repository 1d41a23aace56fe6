"""Rounds in which clients report a declared function of their records, on a lattice of integers.

A client's vector begins with the number of its records, without noise, like the root of a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...noise.sources import KeyedSource, Source
from ..functions.function import Function, check_function
from ..functions.sum_noise import MOST_RECORDS, SumNoise, most_noise
from ..protocol.rounds import Counts, FunctionRound, Memory, Sums, VectorsRound, Words
from ..protocol.trust_models import Summing
from ..protocol.wire import ReportError, RoundError
from .server_secret import ServerSecret
from .share_rounds import SplitRound

__all__ = ["CuratedSumRound", "SharedSumRound", "SumRound"]

_ROWS: Final = 2**14  # records of a site are rounded in blocks


class SumRound(FunctionRound):
    """What all rounds about a function have in common. Their cells are the words of a vector."""

    def __init__(self, trust: Summing, function: Function) -> None:
        check_function("function", function)
        super().__init__(trust, function.size + 1)
        self._begin(trust, function)

    def _begin(self, trust: Summing, function: Function) -> None:
        self.function = function
        self.sum_noise: SumNoise = trust.sum_noise(function)
        self.exact = repr((function, self.sum_noise.bits, self.sum_noise.share))

    @property
    def words(self) -> int:
        """The number of records, and one sum for each value."""
        return self.cells

    def entries(self, records: NDArray[np.float64], stream: Source) -> tuple[Counts, Counts]:
        """Return a client's words: their places, and the rounded values of all records."""
        if self.records is None and records.shape[0] > (most := self.most_of_a_client):
            raise RoundError(f"a client has more than the {most} records that sums have room for")
        numbers = np.zeros(self.words, np.int64)
        numbers[0] = records.shape[0]
        for start in range(0, records.shape[0], _ROWS):
            rows = records[start : start + _ROWS]
            numbers[1:] += self.sum_noise.added_up(self.function, rows, stream)
        return np.arange(self.words), numbers

    @property
    def most_of_a_client(self) -> int:
        """How many records a client may have, so that no sum wraps around."""
        return MOST_RECORDS // (self.most_reports or MOST_RECORDS)

    def records_in(self, sums: Sums) -> int:
        """Return the number of records, which all words together say."""
        return int(sums.totals.view(np.int64)[0])

    def check_sums(self, sums: Sums) -> None:
        """Refuse a wrong number of records, and totals that are farther off than noise can be."""
        signed, n = sums.totals.view(np.int64), self.records_in(sums)
        if self.records is not None and n != sums.reports * self.records:
            raise RoundError(
                "the total is not the number of reports: some client did not send shares of "
                "one record"
            )
        if not 1 <= n <= MOST_RECORDS:
            raise RoundError(f"the sum is of {n} records, but 1 to 2^40 are needed")
        lattice, share = self.sum_noise.lattice, self.sum_noise.share
        noise = 0.0 if share is None else most_noise(share, self._parties(sums), self.words)
        own = signed[1:].astype(np.float64)
        if np.any((own < n * lattice.least - noise) | (own > n * lattice.most + noise)):
            raise RoundError(
                "a total is farther from possible sums than noise can be; if sums were made modulo "
                "a number, subtract it from those of at least its half"
            )

    def estimates(self, sums: Sums) -> NDArray[np.float64]:
        """Return the sums of the values, (d,)."""
        totals = sums.totals.view(np.int64)
        return self.sum_noise.lattice.values(totals[1:], self.records_in(sums))

    def deviation(self, sums: Sums) -> NDArray[np.float64]:
        """Return the standard deviation of the noise, and at most of rounding, (d,)."""
        noise = self.sum_noise._replace(parties=self._parties(sums))
        return noise.deviation(self.records_in(sums), self.function.is_whole)

    def _parties(self, sums: Sums) -> int:
        """Return how many shares of the noise are in sums."""
        return sums.reports


class SharedSumRound(SumRound, SplitRound, VectorsRound):
    """Vectors with each client's share of the noise, which are split among the servers."""

    def __init__(self, trust: Summing, function: Function, receivers: int) -> None:
        check_function("function", function)
        SplitRound.__init__(self, trust, function.size + 1, receivers)
        self._begin(trust, function)

    def shared(self, cells: Counts, numbers: Counts, stream: Source) -> Counts:
        """Return the vector."""
        return self.vector(cells, numbers, stream)

    def vector(self, cells: Counts, numbers: Counts, stream: Source) -> Counts:
        """Return a client's words, with its share of the noise."""
        vector = np.zeros(self.words, np.int64)
        if (share := self.sum_noise.share) is not None:
            share.fill(vector[1:], stream)
        vector[cells] += numbers
        return vector


class CuratedSumRound(SumRound):
    """Vectors in plain, for a server that adds them up, and gives away sums with noise.

    As for counts, the noise is a function of the server's secret and of the settled reports.
    """

    servers_draw = True

    def report(self, cells: Counts, numbers: Counts, stream: Source) -> Sequence[bytes]:
        """Return the vector."""
        vector = np.zeros(self.words, np.int64)
        vector[cells] += numbers
        return [vector.astype("<i8").tobytes()]

    def payload_bytes(self, kind: int, level: int = 0) -> int:
        """Return 8 bytes a word."""
        return 8 * self.words

    def check(self, kind: int, payload: bytes) -> None:
        """Refuse a vector beyond the bound: here, the server sees it."""
        super().check(kind, payload)
        numbers = np.frombuffer(payload, "<i8").astype(np.int64)
        lattice = self.sum_noise.lattice
        in_range = np.all((numbers[1:] >= lattice.least) & (numbers[1:] <= lattice.most))
        if numbers[0] != 1 or not in_range or not lattice.contains(numbers[np.newaxis, 1:]):
            raise ReportError("payload", "is not a vector within the bound")

    def counted(self, kind: int, payload: bytes) -> list[tuple[int, Words]]:
        """Return the vector, which is added to all totals."""
        return [(0, np.frombuffer(payload, "<u8"))]

    def memory(self, place: int | None, stream: Source) -> ServerSecret:
        """Return the secret of which noise is made."""
        return ServerSecret.drawn(stream)

    def memory_from(self, read: Callable[[int], bytes]) -> ServerSecret:
        """Return the secret from a file."""
        return ServerSecret.read(read)

    def given(self, totals: Words, memory: Memory | None, context: bytes, simulated: bool) -> Words:
        """Return the totals with noise, the same whenever it is asked."""
        assert isinstance(memory, ServerSecret)
        stream = KeyedSource(memory.key(context), simulated=simulated)
        noisy = totals.copy()
        noisy[1:] += self.sum_noise.drawn(stream).view(np.uint64)
        return noisy

    def _parties(self, sums: Sums) -> int:
        return 1
