"""Function secret sharing: servers evaluate sums of step functions, and learn none of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final, Literal, Self

import numpy as np

from ... import _check
from ...errors import DpcoreError, FormatError
from ...kernels.trees import hierarchy as kernels
from ...noise.sources import Source
from .. import comparison
from ..comparison.generation import keys_from_seeds
from ..protocol import wire
from ..protocol.rounds import MOST_SERVERS, AnsweringRound, Counts, Memory, Words
from ..protocol.trust_models import Answering
from ..protocol.wire import ReportError
from .advised import Advised
from .remembered_noise import RememberedNoise
from .server_secret import ServerSecret
from .share_rounds import ShareRound
from .tree_of_shares import TreeOfShares

__all__ = ["FunctionSharing"]

_KEYED_SERVERS: Final = 2  # a pair of keys shares a function between two servers


@dataclass(frozen=True, slots=True)
class FunctionSharing(TreeOfShares, Answering, Advised):
    """Differential privacy for counts that servers open, of functions that clients have shared.

    A client's record is a step function: 1 from its cell on, 0 before. The client shares this
    function among servers once, and is then no longer needed. Servers learn nothing about it unless
    all of them collude. But each server can evaluate its share at any threshold, and add up over
    clients. Each server adds noise on the nodes of a tree. It draws the noise once and remembers
    it, so the budget is spent once, however many thresholds are opened. Neighbours: one client's
    record is replaced.

    Parameters
    ----------
    epsilon
        The guarantee of all counts that are ever opened, for a client: a positive number. A
        Fraction is used exactly.
    servers
        The number of servers, 2 to 256. With two, a client sends keys of some hundred bytes
        (docs/proofs/function-sharing.md). With more, one server gets 8 bytes for each cell, and
        each other one 32 bytes.
    honest
        How many servers keep their noise secret, 1 to ``servers``: the noise of any that many
        servers has the guarantee. With 1, epsilon holds against all servers but one together. With
        ``servers``, it holds only against those who know no server's noise, and there is less
        noise. In any case the functions stay secret as long as one server keeps its keys secret.
    branching, budgets
        As in ``mechanisms.Hierarchy``.

    Attributes
    ----------
    records
        1: a client has one record.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    Barczewski, Mawass & Ramon, *Differentially Private Empirical Cumulative Distribution Functions*
    (the ECDF paper), section 4.2; docs/proofs/function-sharing.md has the guarantee. As a mechanism
    it releases the whole curve that the servers would open: it draws the noise of the sum exactly,
    and shares nothing. O(N) draws.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> trust = dp.trust.FunctionSharing(epsilon=1.0)
    >>> curve = dp.cdf(rng.beta(2, 5, 10_000), dp.Grid.uniform(0, 1, 256), trust, rng=rng)
    >>> round(curve.quantile(0.5), 2)
    0.26
    """

    epsilon: float | Fraction
    servers: int = 2
    honest: int = 1
    branching: Literal["auto", "hb"] | int | Sequence[int] = "auto"
    budgets: Literal["auto", "equal"] | Sequence[float] = "auto"
    records: ClassVar[int] = 1
    advised: ClassVar[str] = "function-sharing"
    trusted: ClassVar[str] = "a server"

    def __post_init__(self) -> None:
        servers = _check.integer("servers", self.servers, 2, MOST_SERVERS)
        object.__setattr__(self, "servers", servers)
        object.__setattr__(self, "honest", _check.integer("honest", self.honest, 1, servers))
        self._keep_tree()

    @property
    def required(self) -> int:
        """How many servers make up the noise that the guarantee needs: the honest ones."""
        return self.honest

    @property
    def reports(self) -> int:
        """How many servers add noise."""
        return self.servers

    def round(self, size: int, servers: int | None = None) -> AnsweringRound:
        """Return a round whose clients share step functions.

        Examples
        --------
        >>> from dpcore.trust import FunctionSharing
        >>> [FunctionSharing(1.0, servers).round(1024).kinds for servers in (2, 3)]
        [(4,), (2, 1)]
        """
        kind = _KeyRound if self.servers == _KEYED_SERVERS else _TableRound
        return kind(self, size, self.servers)

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.trust import FunctionSharing
        >>> trust = FunctionSharing(epsilon=1.0, servers=3, honest=2)
        >>> {name: trust.describe()[name] for name in ("epsilon", "servers", "honest")}
        {'epsilon': 1.0, 'servers': 3, 'honest': 2}
        """
        of_tree = self._hierarchy().describe()
        return {
            "name": self.advised,
            "epsilon": float(self.epsilon),
            "servers": self.servers,
            "honest": self.honest,
            "branching": of_tree["branching"],
            "budgets": of_tree["budgets"],
        }


@dataclass(frozen=True, slots=True, repr=False)
class _Functions(ServerSecret):
    """A server's secret, its place, and the keys of settled functions that are not added up.

    Keys are in blocks of one key behind the other.
    """

    at: int = 0
    keys: tuple[bytes, ...] = ()

    @property
    def place(self) -> int:
        """Which server this is, from 0."""
        return self.at

    def with_settled(self, kind: int, payloads: Mapping[bytes, bytes]) -> Self:
        fresh = b"".join(payloads.values()) if kind == wire.FUNCTION else b""
        keys = _with(self.keys, fresh) if fresh else self.keys
        return replace(self, content=self.content_with(kind, payloads), keys=keys)

    def with_all_of(self, other: Memory) -> Self:
        assert isinstance(other, _Functions)
        keys = (*self.keys, *other.keys)
        return replace(ServerSecret.with_all_of(self, other), keys=keys)

    def to_bytes(self) -> bytes:
        kept = b"".join(self.keys)
        length = len(kept).to_bytes(8, "little")
        return ServerSecret.to_bytes(self) + bytes([self.at]) + length + kept


class _TableRound(ShareRound, AnsweringRound):
    """A client's step function, whose values at all cells are split into shares.

    Servers add up shares of cumulative counts, answer with noise on these, and at the end give away
    the counts of all nodes with noise.
    """

    trust: FunctionSharing

    def __init__(self, trust: FunctionSharing, cells: int, receivers: int) -> None:
        super().__init__(trust, cells, receivers)
        self.exact = str(Fraction(trust.epsilon))

    def shared(self, cells: Counts, numbers: Counts, stream: Source) -> Counts:
        steps = np.zeros(self.cells, np.int64)
        steps[cells[0] :] = 1
        return steps

    @property
    def shared_words(self) -> int:
        """How many numbers a client shares: the values of its function."""
        return self.cells

    def memory(self, place: int | None, stream: Source) -> Memory:
        return replace(_Functions.drawn(stream), at=place or 0)

    def memory_from(self, read: Callable[[int], bytes]) -> Memory:
        secret, place = _Functions.read(read), read(1)[0]
        kept = read(int.from_bytes(read(8), "little"))
        if place >= self.receivers or not self._are_keys(kept):
            raise FormatError("has a place or keys that such a server cannot have")
        return replace(secret, at=place, keys=(kept,) if kept else ())

    def shares_at(self, totals: Words, memory: Memory | None, cells: Counts) -> Words:
        return totals[cells]

    def noise_at(
        self, memory: Memory | None, context: bytes, simulated: bool
    ) -> Callable[[Counts], Counts]:
        return self.noise_of(memory, context, simulated).of_prefixes

    def noise_of(self, memory: Memory | None, context: bytes, simulated: bool) -> RememberedNoise:
        """Return a server's noise, which depends on the settled reports."""
        assert isinstance(memory, ServerSecret)
        noise, key = self.trust.remembered(self.cells), memory.key(context)
        return RememberedNoise(noise.tree, noise.shares, key, simulated=simulated)

    def given(self, totals: Words, memory: Memory | None, context: bytes, simulated: bool) -> Words:
        added = self.added_up(totals, memory)
        shares = totals if added is None else added[0]
        counts = np.diff(shares, prepend=np.uint64(0)).view(np.int64)
        nodes = kernels.node_sums(counts, np.array(self.branching, np.int64), self.starts)
        nodes += self.noise_of(memory, context, simulated).of_nodes()
        for level, (share, part) in enumerate(zip(self.noise, self.levels, strict=True)):
            if level and share is None:  # it has no noise, so it must not be disclosed
                nodes[part] = 0
        return nodes.view(np.uint64)

    def _are_keys(self, kept: bytes) -> bool:
        return not kept


class _KeyRound(_TableRound):
    """A client's step function, of which each of two servers gets a key."""

    kinds = (wire.FUNCTION,)

    @property
    def bits(self) -> int:
        """L, the least number with 2^L >= cells: keys of comparison functions have L bits."""
        return max(1, (self.cells - 1).bit_length())

    def report(self, cells: Counts, numbers: Counts, stream: Source) -> list[bytes]:
        seeds = np.empty((2, 1, 2), np.uint64)
        stream.fill(seeds.reshape(-1))
        keys = keys_from_seeds(cells.astype(np.uint64), seeds, self.bits)
        return [key.packed.tobytes() for key in keys]

    def kind(self, place: int) -> int:
        return wire.FUNCTION

    def payload_bytes(self, kind: int, level: int = 0) -> int:
        return comparison.key_bytes(self.bits)

    def is_for(self, kind: int, payload: bytes, place: int) -> bool:
        return _party(payload) == place

    def check(self, kind: int, payload: bytes) -> None:
        super().check(kind, payload)
        try:
            comparison.Keys.from_packed(payload, self.bits, _party(payload))
        except DpcoreError:  # the length and the party are right
            raise ReportError("payload", "has bits that mean nothing") from None

    def counted(self, kind: int, payload: bytes) -> list[tuple[int, Words]]:
        return []  # the memory keeps the keys

    def shares_at(self, totals: Words, memory: Memory | None, cells: Counts) -> Words:
        assert isinstance(memory, _Functions)
        shares = totals[cells]
        for block in memory.keys:
            keys = comparison.Keys.from_packed(block, self.bits, 1 if memory.at else 0)
            shares += comparison.evaluate_sum(keys, cells)
        return shares

    def added_up(self, totals: Words, memory: Memory | None) -> tuple[Words, Memory] | None:
        assert isinstance(memory, _Functions)
        if not memory.keys:
            return None
        shares = self.shares_at(totals, memory, np.arange(self.cells))
        return shares, replace(memory, keys=())

    def _are_keys(self, kept: bytes) -> bool:
        return len(kept) % self.payload_bytes(wire.FUNCTION) == 0


def _party(payload: bytes) -> Literal[0, 1]:
    """Return for which server this key is, by its first bit (docs/proofs/function-sharing.md)."""
    return 1 if payload[0] & 1 else 0


def _with(blocks: tuple[bytes, ...], fresh: bytes) -> tuple[bytes, ...]:
    """Return blocks and one more, joined so that blocks are few and bytes are seldom copied."""
    while blocks and len(blocks[-1]) <= len(fresh):
        blocks, fresh = blocks[:-1], blocks[-1] + fresh
    return (*blocks, fresh)
