"""A client that is asked point by point, with its share of remembered noise."""

from __future__ import annotations

import hashlib
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import DtypeError, ParameterError, amount
from ...noise.sources import KEY_BYTES, checked_key, random_bytes, source
from ...summaries.grid import MOST_CELLS
from ..models.remembered_noise import RememberedNoise
from ..protocol.trust_models import WithVectors
from .aggregators import check_trust

__all__ = ["PointwiseClient", "checked_cells"]


class PointwiseClient:
    """One client of a secure sum that is asked point by point, with one record.

    Its vector for some cells is 1 where the record is in the cell or before it, and 0 elsewhere,
    plus the client's share of the noise. Give the vector only to the secure sum, because its noise
    is mostly 0.

    Parameters
    ----------
    trust
        DistributedNoise, or SecureAggregation, which has no noise.
    size
        N, the number of cells, 1 to 2^24.
    cell
        The cell of the record, 0 to N - 1, as ``cell_of`` returns it.
    key
        The key from which the noise is made. After a restart, give the key that this client had
        before, provided that ``digest`` has not changed. None: a new key.
    rng
        None for a release: a key from the operating system. A generator is for studies.

    Attributes
    ----------
    key
        32 bytes, **as secret as the record**. Keep it as long as questions are answered. It is for
        one record, one size and one set of clients: see Notes.
    simulated
        Whether a generator has made the key. A key that is given is taken for one of a release.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or key and rng are both given.

    Notes
    -----
    docs/proofs/function-sharing.md has the guarantee. A client may answer any number of questions,
    and the same one again, because the noise is a function of the key. So a copy or a pickle does
    no harm if it is kept as secret as the record. A second key for the same record does harm: if a
    client is lost or drops out, and sums go on over the others, then all clients begin again with
    new keys, and spend the budget again.

    Examples
    --------
    >>> from dpcore.trust import DistributedNoise, PointwiseClient, SharedVectors
    >>> trust = DistributedNoise(epsilon=40.0, clients=3)
    >>> clients = [PointwiseClient(trust, 16, cell) for cell in [3, 9, 9]]
    >>> len(clients[0].key)  # keep these bytes with the record
    32
    >>> SharedVectors(clients).sum([8, 15])
    array([1, 3])
    """

    __slots__ = ("_cell", "_noise", "_trust", "key", "simulated", "size")

    def __init__(
        self,
        trust: WithVectors,
        size: int,
        cell: int,
        key: bytes | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        check_trust(trust, WithVectors)
        self.size = _check.integer("size", size, 1, MOST_CELLS)
        self._trust, self._cell = trust, _own(cell, self.size)
        stream = source(rng)
        if key is None:
            key = random_bytes(KEY_BYTES, stream)
        elif rng is not None:
            raise ParameterError("rng", "a generator", "must be left out if a key is given")
        self.key, self.simulated = checked_key(key), stream.simulated
        self._noise: RememberedNoise | None = None
        if (of := trust.remembered(self.size)) is not None:
            self._noise = RememberedNoise(of.tree, of.shares, key, simulated=self.simulated)

    def __repr__(self) -> str:
        return f"<PointwiseClient of {amount(self.size, 'cell')}>"

    @property
    def trust(self) -> WithVectors:
        """The trust model, which says who makes the noise."""
        return self._trust

    @property
    def digest(self) -> bytes:
        """32 bytes, a hash of size and noise: vectors may be added up only if it is the same."""
        noise = b"" if self._noise is None else self._noise.digest
        return hashlib.sha256(f"{self.trust!r} {self.size} ".encode() + noise).digest()

    def vector(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the vector that this client adds to the sum, (k,) int64.

        Parameters
        ----------
        cells
            (k,) integers, 0 to N - 1: records up to and including this cell are counted.

        Raises
        ------
        DtypeError, ParameterError
            ``cells`` are not as above.

        Notes
        -----
        O(k) for each level, and some 2^10 draws for each block of nodes that is new.

        Examples
        --------
        >>> from dpcore.trust import PointwiseClient, SecureAggregation
        >>> PointwiseClient(SecureAggregation(), 16, 9).vector([3, 8, 9, 15])
        array([0, 0, 1, 1])
        """
        asked = checked_cells(cells, self.size)
        own = (self._cell <= asked).astype(np.int64)
        return own if self._noise is None else own + self._noise.of_prefixes(asked)


def checked_cells(cells: object, size: int) -> NDArray[np.int64]:
    """Return cells that are asked for, (k,)."""
    numbers = _check.array("cells", cells, "iu", "must be integers")
    if numbers.ndim != 1:
        raise ParameterError("cells", numbers.shape, "must be (k,)")
    wrong = (numbers < 0) | (numbers >= size)
    if wrong.any():
        raise ParameterError("cells", numbers[wrong][0], f"must be 0 to {size - 1}")
    return numbers.astype(np.int64)


def _own(cell: object, size: int) -> int:
    """Return the cell of a record; messages must not quote it."""
    if isinstance(cell, bool | np.bool_ | np.timedelta64) or not isinstance(cell, Integral):
        raise DtypeError("cell", f"a {type(cell).__name__}", "must be an integer")
    if not 0 <= int(cell) < size:
        raise ParameterError("cell", "another", f"must be 0 to {size - 1}")
    return int(cell)
