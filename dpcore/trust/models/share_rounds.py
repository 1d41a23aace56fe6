"""Rounds whose clients split numbers into shares, which are random except for their sum."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.base import MOST_RECORDS
from ...noise.sources import Source, random_bytes
from ..functions.sum_noise import Shares, most_noise
from ..protocol import wire
from ..protocol.rounds import Counts, Round, Sums, VectorsRound, Words
from ..protocol.trust_models import Pointwise, TrustModel
from ..protocol.wire import RoundError

__all__ = ["ShareRound", "SplitRound", "VectorRound"]


class SplitRound(Round):
    """A client's numbers, split among the servers: seeds of shares, and one share with the rest."""

    kinds: tuple[int, ...] = (wire.SEED, wire.ADDITIVE)

    def __init__(self, trust: TrustModel, cells: int, receivers: int) -> None:
        super().__init__(trust, cells)
        self.receivers = receivers
        self.records = self.most_records = self.trust.records

    @abstractmethod
    def shared(self, cells: Counts, numbers: Counts, stream: Source) -> Counts:
        """Return the numbers of a client, which are shared, (shared_words,)."""

    def report(self, cells: Counts, numbers: Counts, stream: Source) -> list[bytes]:
        """Return a seed for each server but the last, and the rest for that."""
        return self.split(self.shared(cells, numbers, stream), stream)

    def split(self, numbers: Counts, stream: Source) -> list[bytes]:
        """Split numbers into shares that add up to them modulo 2^64."""
        rest = numbers.view(np.uint64)
        payloads = []
        for _ in range(self.receivers - 1):
            seed = random_bytes(wire.SEED_BYTES, stream)
            rest = rest - wire.expanded(seed, rest.size)
            payloads.append(seed)
        return [*payloads, rest.astype("<u8", copy=False).tobytes()]

    def kind(self, place: int) -> int:
        """Return that of shares for the last server, and that of seeds for the others."""
        return wire.ADDITIVE if place == self.receivers - 1 else wire.SEED

    def payload_bytes(self, kind: int, level: int = 0) -> int:
        """Return the length of a seed or of a share."""
        return wire.SEED_BYTES if kind == wire.SEED else 8 * self.shared_words

    def counted(self, kind: int, payload: bytes) -> list[tuple[int, Words]]:
        """Return the share, which is added to all totals."""
        if kind == wire.SEED:
            return [(0, wire.expanded(payload, self.shared_words))]
        return [(0, np.frombuffer(payload, "<u8"))]


class ShareRound(SplitRound):
    """The counts of a tree, or of cells, which servers share."""

    def __init__(self, trust: Pointwise, cells: int, receivers: int) -> None:
        super().__init__(trust, cells, receivers)
        self._steps = 1  # of a count
        if (noise := trust.shared_noise(cells)) is not None:
            tree = noise.tree
            self.branching, self.starts = tuple(tree.branching.tolist()), tree.starts
            self.noise, self._variances = tuple(noise.shares), tree.variances
            self._steps = 1 << tree.bits

    def records_in(self, sums: Sums) -> int:
        """Return the number of records; without a contribution bound, it is the root's."""
        if self.records is None:
            root = int(sums.totals.view(np.int64)[0])  # it has no noise
            return root // self._steps
        return sums.reports * self.records

    def check_sums(self, sums: Sums) -> None:
        """Refuse a wrong total, counts that are impossible, and levels that are not counted."""
        signed, most = sums.totals.view(np.int64), self.records_in(sums)
        total = signed[0] if self.noise else signed.sum()  # the root has no noise
        if total != most * self._steps:
            records = "one record" if self.records == 1 else f"{self.records} records"
            raise RoundError(
                "the total is not the number of reports: some client did not send shares of "
                f"{records}"
            )
        if not 1 <= most <= MOST_RECORDS:
            raise RoundError(f"the sum is of {most} records, but 1 to 2^46 are needed")
        if not self.noise and (signed.min() < 0 or signed.max() > most):
            raise RoundError("the count of a cell is below 0, or above the number of records")
        for level, (share, part) in enumerate(zip(self.noise, self.levels, strict=False)):
            if level and share is None and signed[part].any():
                raise RoundError(f"level {level} is not counted, and its totals are not 0")

    def estimates(self, sums: Sums) -> Counts | NDArray[np.float64]:
        """Return the sums of cells, or least squares from nodes with noise."""
        signed = sums.totals.view(np.int64)
        if not self.noise:
            return np.cumsum(signed)
        nodes = signed if self._steps == 1 else self.numbers(sums.totals)
        return self._least_squares(nodes, self._variances, self.records_in(sums))

    def numbers(self, totals: Words) -> Counts | NDArray[np.float64]:
        """Return the totals, in counts."""
        signed = totals.view(np.int64)
        return signed if self._steps == 1 else signed / self._steps


class VectorRound(ShareRound, VectorsRound):
    """A client's counts on all nodes of a tree, each with the client's share of the noise."""

    def shared(self, cells: Counts, numbers: Counts, stream: Source) -> Counts:
        """Return the vector."""
        return self.vector(cells, numbers, stream)

    def vector(self, cells: Counts, numbers: Counts, stream: Source) -> Counts:
        """Return the counts of records on all levels, with the client's share of the noise."""
        counts = np.zeros(self.words, np.int64)
        shares: Sequence[Shares | None] = self.noise or (None,)
        numbers = numbers * self._steps
        for level, (share, places) in enumerate(zip(shares, self.levels, strict=True)):
            part = counts[places]
            if share is not None:
                share.fill(part, stream)
            elif level > 0:
                continue  # an uncounted level has no noise, so it must not be sent
            if cells.size == 1:
                part[self.node(int(cells[0]), level)] += numbers[0]
            else:
                np.add.at(part, self.node(cells, level), numbers)
        return counts

    def check_sums(self, sums: Sums) -> None:
        """Refuse totals that are farther from possible counts than noise can be, too."""
        super().check_sums(sums)
        signed, most = sums.totals.view(np.int64), self.records_in(sums) * self._steps
        for share, part in zip(self.noise, self.levels, strict=False):
            noise = 0.0 if share is None else most_noise(share, sums.reports, self.words)
            if share and (signed[part].min() < -noise or signed[part].max() > most + noise):
                raise RoundError(
                    "a total is farther from possible counts than noise can be; if sums were made "
                    "modulo a number, subtract it from those of at least its half"
                )
