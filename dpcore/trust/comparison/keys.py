"""One party's keys of many clients."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import DtypeError, ParameterError
from . import layout

__all__ = ["Keys"]

Party = Literal[0, 1]


class Keys:
    """One party's keys, one for each client, from ``gen`` or ``from_packed``.

    Parameters
    ----------
    words
        (n, W) uint64, contiguous: packed keys of W = ``key_bytes(bits) / 8`` words. Their contents
        are not checked. Nobody may write to them any more.
    bits
        Values and thresholds are below 2^bits, 1 <= bits <= 32.
    party
        0 or 1.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> from dpcore.trust import comparison
    >>> first, second = comparison.gen([3, 200, 77], bits=8)
    >>> first
    Keys(of 3 clients, bits=8, party=0)
    >>> first.packed.shape  # the bytes of each client's key
    (3, 208)
    """

    __slots__ = ("_bits", "_party", "_words")

    def __init__(self, words: NDArray[np.uint64], bits: int, party: Party) -> None:
        bits = _check.integer("bits", bits, 1, layout.MOST_BITS)
        _check.choice("party", party, Party)
        words = _check.array_itself("words", words, np.uint64)
        width = layout.key_bytes(bits) // 8
        if words.ndim != 2 or words.shape[1] != width:
            raise ParameterError("words", words.shape, f"must have shape (n, {width})")
        words.flags.writeable = False
        self._words, self._bits, self._party = words, bits, cast(Party, int(party))

    def __len__(self) -> int:
        return len(self._words)

    def __repr__(self) -> str:
        return f"Keys(of {len(self)} clients, bits={self.bits}, party={self.party})"

    def __reduce__(self) -> tuple[object, ...]:  # unpickled arrays would be writeable
        return Keys, (self._words, self.bits, self.party)

    @property
    def bits(self) -> int:
        """Values and thresholds are below 2^bits."""
        return self._bits

    @property
    def party(self) -> Party:
        """The party whose keys these are, 0 or 1."""
        return self._party

    @property
    def words(self) -> NDArray[np.uint64]:
        """(n, W) the keys as words of 64 bits, read-only."""
        return self._words

    @property
    def packed(self) -> NDArray[np.uint8]:
        """(n, key_bytes) the keys as bytes, read-only."""
        return self._words.view(np.uint8)

    @classmethod
    def from_packed(cls, packed: object, bits: int, party: Party) -> Keys:
        """Return the keys from their bytes.

        Parameters
        ----------
        packed
            (n, key_bytes) or (key_bytes,) uint8, or bytes with one key after the other. They are
            copied.
        bits, party
            The same as for the keys that were packed.

        Raises
        ------
        DtypeError, ParameterError
            The keys cannot be valid: they have another length, are of the other party, or have bits
            set that must be 0. Other damage cannot be detected, because all other bits look random.

        Examples
        --------
        >>> from dpcore.trust import comparison
        >>> first, second = comparison.gen([3, 200, 77], bits=8)
        >>> comparison.Keys.from_packed(first.packed, bits=8, party=0)
        Keys(of 3 clients, bits=8, party=0)
        """
        bits = _check.integer("bits", bits, 1, layout.MOST_BITS)
        _check.choice("party", party, Party)
        size = layout.key_bytes(bits)
        if isinstance(packed, bytes | bytearray | memoryview):
            given = np.frombuffer(bytes(packed), np.uint8)
            if given.size % size:
                wanted = f"must hold keys of {size} bytes each"
                raise ParameterError("packed", f"{given.size} bytes", wanted)
            given = given.reshape(-1, size)
        else:
            given = _check.array("packed", packed, "u", "must hold bytes")
            if given.dtype != np.uint8:
                raise DtypeError("packed", f"dtype {given.dtype}", "must hold uint8")
            if given.ndim not in (1, 2) or given.shape[-1] != size:
                raise ParameterError("packed", given.shape, f"must have shape (n, {size})")
            given = given.reshape(-1, size)
        words = np.ascontiguousarray(given).view(np.uint64).copy()
        if (words[:, 0] & np.uint64(1) != np.uint64(party)).any():
            raise ParameterError("packed", "a key of the other party", f"must be party {party}'s")
        if (words[:, layout.control_word(bits)] >> np.uint64(layout.levels(bits))).any():
            wanted = "must have no bits for levels that do not exist"
            raise ParameterError("packed", "a damaged key", wanted)
        return cls(words, bits, party)
