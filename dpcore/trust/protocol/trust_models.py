"""The interfaces of trust models: mechanisms that say who makes the noise, and their registry."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import DtypeError, ParameterError
from ...mechanisms.base import Mechanism
from ...mechanisms.tree import Tree
from ...noise.polya import PolyaShares
from ...noise.sources import Source
from ...privacy.guarantees import Neighbours, Privacy
from ..functions.function import Function
from ..functions.sum_noise import Shares, SumNoise
from . import wire
from .rounds import MOST_CLIENTS, Counts, Round, Sums

__all__ = [
    "Answering",
    "Bounded",
    "Pointwise",
    "Remembered",
    "SharedNoise",
    "Summing",
    "TrustModel",
    "WithVectors",
    "names_of",
    "trust_models",
]

_known: Final[dict[str, type[TrustModel]]] = {}


class TrustModel(Mechanism):
    """A mechanism that says who makes the noise, and how clients and servers make a release.

    A subclass is a frozen dataclass, like a mechanism, with ``round`` in place of ``_fill``. It
    works in ``dpcore.cdf``, which then makes the reports of all clients, and in rounds of
    ``Protocol``, ``Client`` and ``Server`` (docs/guides/extending.md).

    Examples
    --------
    >>> import dpcore as dp
    >>> trust = dp.trust.Local(epsilon=1.0, clients=1000)
    >>> isinstance(trust, dp.trust.TrustModel), trust.round(4).receivers
    (True, 1)
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _known[f"{cls.__module__}.{cls.__qualname__}"] = cls  # with slots, it is defined twice

    @abstractmethod
    def round(self, size: int, servers: int | None = None) -> Round:
        """Return what clients and servers do in a round over ``size`` cells.

        Parameters
        ----------
        size
            The number of counted cells, 2 or more.
        servers
            How many servers there are; None: as many as usual. Ignore it if there is no choice.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> DistributedNoise(1.0, clients=1000).round(256, servers=3).receivers
        3
        """

    def _check_total(self, total: int, size: int) -> None:
        super()._check_total(total, size)
        own = self.round(size)
        if own.records != 1:
            cls = type(self)
            by_default = cls._fill is TrustModel._fill and cls._prepared is Mechanism._prepared
            if own.records is not None and by_default and self.privacy.epsilon != math.inf:
                # Each record of a client would spend what all of them may spend together.
                what = "must define _fill, because its reports hold several records each"
                raise DtypeError("mechanism", type(self).__name__, what)
            return
        if total == 0:
            return
        if total < own.least_reports or total > (own.most_reports or total):
            wanted = f"{own.least_reports} to {own.most_reports or MOST_CLIENTS}"
            raise ParameterError("counts", total, f"must sum to {wanted} clients")

    def _fill(self, counts: Counts, out: NDArray[np.float64], stream: Source) -> None:
        """Make the reports of all clients, each with one record; a faster way may replace this."""
        own = self.round(counts.size)
        servers = range(own.receivers)
        placed = own.servers_draw and own.receivers > 1
        for row in out:
            words = np.zeros((own.receivers, own.stored_words), np.uint64)
            memories = [own.memory(place if placed else None, stream) for place in servers]
            for cell in np.repeat(np.arange(counts.size), counts):
                payloads = own.report(np.array([cell]), np.ones(1, np.int64), stream)
                for place, payload in enumerate(payloads):
                    kind = own.kind(place)
                    for start, numbers in own.counted(kind, payload):
                        words[place, start : start + numbers.size] += numbers
                    if (memory := memories[place]) is not None:
                        settled = {bytes(wire.ID_BYTES): payload}
                        memories[place] = memory.with_settled(kind, settled)
            totals = np.zeros(own.words, np.uint64)
            for stored, memory in zip(words, memories, strict=True):  # each server has its noise
                totals += own.given(stored[len(own.asked) :], memory, b"", stream.simulated)
            answers = tuple(words[0, : len(own.asked)].tolist())
            row[:] = own.estimates(Sums(totals, int(counts.sum()), answers))


class Bounded(TrustModel):
    """A trust model for clients with any number of records, of which at most ``records`` count."""

    __slots__ = ()

    records: int | None

    @property
    @abstractmethod
    def record_privacy(self) -> Privacy:
        """The guarantee for one record of a client."""

    @property
    def reported(self) -> int | None:
        """How many records a client reports; fewer than ``records`` if it draws from these."""
        return self.records

    @property
    def reporters(self) -> int | None:
        """How many clients report; None: the trust model does not say it."""
        return None


class Remembered(NamedTuple):
    """Noise on the nodes of a tree, made of shares; ``parties`` of them are in a sum."""

    tree: Tree
    shares: Sequence[PolyaShares | None]
    parties: int


class SharedNoise(NamedTuple):
    """The same in what clients share, where noise may be Gaussian, and in steps of 2^-bits."""

    tree: Tree
    shares: Sequence[Shares | None]


class Pointwise(TrustModel):
    """A trust model whose sums can be opened point by point, for clients with one record each."""

    __slots__ = ()

    def over(self, clients: int) -> Self:
        """Return the trust model for so many clients in the sums, or raise RoundError.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> DistributedNoise(1.0, clients=1000, dropout=0.1).over(950).reporting
        950
        """
        return self

    @abstractmethod
    def remembered(self, size: int) -> Remembered | None:
        """Return the noise in sums over N cells; None: there is none.

        Examples
        --------
        >>> from dpcore.trust import FunctionSharing
        >>> FunctionSharing(epsilon=1.0, servers=3).remembered(4).parties
        3
        """

    def shared_noise(self, size: int) -> SharedNoise | None:
        """Return the noise of a party in a round over N cells; None: there is none.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> DistributedNoise(rho=0.5, clients=1000).shared_noise(4).tree.bits
        20
        """
        noise = self.remembered(size)
        return None if noise is None else SharedNoise(noise.tree, noise.shares)


class WithVectors(Pointwise):
    """A trust model whose clients have vectors, with their noise, that anybody may add up."""

    __slots__ = ()


class Answering(Pointwise):
    """A trust model whose servers answer questions about single cells, as in AnsweringRound."""

    __slots__ = ()


class Summing(TrustModel):
    """A trust model under which declared functions of records can be summed, not only counts."""

    __slots__ = ()

    @abstractmethod
    def sum_noise(self, function: Function, neighbours: Neighbours = "replace-one") -> SumNoise:
        """Return the integers that stand for values, and the noise of all parties in their sum.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> from dpcore.trust.functions import Identity
        >>> noise = DistributedNoise(1.0, clients=1000).sum_noise(Identity(0, 10))
        >>> noise.bits, noise.parties, noise.deviation(1000, is_whole=False).round(2)
        (30, 1000, array([14.14]))
        """

    @abstractmethod
    def sum_round(self, function: Function, servers: int | None = None) -> Round:
        """Return what clients and servers do to sum a function.

        Examples
        --------
        >>> from dpcore.trust import SecureAggregation
        >>> from dpcore.trust.functions import Polynomials
        >>> own = SecureAggregation().sum_round(Polynomials(0, 1, degree=4))
        >>> own.receivers, own.words  # the number of records, and four sums
        (2, 5)
        """


def trust_models(kind: type | None = None) -> list[type[TrustModel]]:
    """Return all trust models of a kind that are defined, in alphabetical order.

    Raises
    ------
    DtypeError
        The kind is no class.

    Examples
    --------
    >>> from dpcore.trust import trust_models
    >>> known = [model for model in trust_models() if model.__module__.startswith("dpcore.trust.")]
    >>> len(known), [model.__name__ for model in known[:3]]
    (6, ['Central', 'DistributedNoise', 'FunctionSharing'])
    """
    if kind is not None:
        _check.instance("kind", kind, type, "must be a class, or None")
    models = (cls for cls in _known.values() if kind is None or issubclass(cls, kind))
    return sorted(
        (cls for cls in models if not inspect.isabstract(cls)), key=lambda cls: cls.__name__
    )


def names_of(kind: type) -> str:
    """Return the names of all trust models of a kind, for messages."""
    return " or ".join(model.__name__ for model in trust_models(kind))
