"""Sources of random bits."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Sequence
from typing import Final, Protocol, cast

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from .. import _instead
from ..errors import DtypeError, ParameterError

__all__ = [
    "KEY_BYTES",
    "CryptographicSource",
    "GeneratorSource",
    "KeyedSource",
    "Source",
    "below",
    "checked_key",
    "checked_source",
    "public_generator",
    "random_bytes",
    "source",
]

KEY_BYTES: Final = 32

_MOST_WORDS: Final = 2**15  # 256 KiB at a time, which fit the second-level cache
_ZEROS: Final = memoryview(bytes(8 * _MOST_WORDS))
_WORD: Final = 2**64
_CHILD: Final = b"dpcore source"


class Source(Protocol):
    """A stream of uniform random bits that can hand out independent streams."""

    simulated: bool

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite ``words`` with the next words of the stream."""
        ...

    def spawn(self, count: int) -> Sequence[Source]:
        """Return ``count`` streams, independent of this one and of each other."""
        ...


class CryptographicSource:
    """The key stream of AES-256 in counter mode, with a new key from the operating system.

    Each source draws its own key and first counter block when it is first used. It lives for one
    call and is never stored, so there is nothing to seed, to leak, or to share after a fork. Asking
    ``os.urandom`` for each word would be more than ten times slower (docs/proofs/noise.md).
    """

    simulated = False

    def __init__(self) -> None:
        self._stream: CipherContext | None = None  # many sources only spawn others

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite ``words`` with the next words of the stream."""
        if self._stream is None:
            self._stream = _key_stream(os.urandom(KEY_BYTES), os.urandom(16))
        _overwrite(words, self._stream)

    def spawn(self, count: int) -> list[CryptographicSource]:
        """Return ``count`` sources with keys of their own."""
        return [CryptographicSource() for _ in range(count)]


class KeyedSource:
    """The key stream of AES-256 in counter mode, from a counter of zero: the key is the memory.

    It is for noise that must be the same each time it is drawn, even after a restart. **Use a key
    only once**: with the same key, two data sets, two trees or two scales get the same random
    words, and their releases together disclose their difference without noise. Anyone who has the
    key can subtract the noise. So keep the key as secret as the records, and for as long.

    Parameters
    ----------
    key
        32 bytes, uniformly random, or derived from such bytes by HMAC.
    simulated
        Whether somebody else can know the key, because a seeded generator made it.

    Raises
    ------
    DtypeError, ParameterError
        The key is not 32 bytes.
    """

    def __init__(self, key: bytes, *, simulated: bool = False) -> None:
        self._key = checked_key(key)
        self._stream = _key_stream(key, bytes(16))
        self._spawned = 0
        self.simulated = simulated

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite ``words`` with the next words of the stream."""
        _overwrite(words, self._stream)

    def spawn(self, count: int) -> list[KeyedSource]:
        """Return ``count`` sources: the same after a restart, others in each later call."""
        first = self._spawned
        self._spawned += count
        labels = (_CHILD + index.to_bytes(8, "little") for index in range(first, first + count))
        keys = (hmac.digest(self._key, label, hashlib.sha256) for label in labels)
        return [KeyedSource(key, simulated=self.simulated) for key in keys]


class GeneratorSource:
    """Words of a seeded NumPy generator: for studies and tests, not for releases."""

    simulated = True

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite ``words`` with the next words of the stream."""
        words[:] = self._rng.integers(0, 2**64, words.size, dtype=np.uint64)

    def spawn(self, count: int) -> list[GeneratorSource]:
        """Return ``count`` sources whose generators were spawned from this one."""
        return [GeneratorSource(child) for child in self._rng.spawn(count)]


def source(rng: np.random.Generator | None) -> Source:
    """Return the cryptographic source for None, and a study's source for a generator.

    Raises
    ------
    DtypeError
        ``rng`` is something else, such as an integer seed, a legacy RandomState, or a generator
        that cannot be spawned. Integer seeds are refused because two calls with one seed would add
        the same noise twice.
    """
    if rng is None:
        return CryptographicSource()
    if not isinstance(rng, np.random.Generator):
        what = _instead.generator(rng, ", for studies; None for a release")
        raise DtypeError("rng", type(rng).__name__, what)
    if not isinstance(rng.bit_generator.seed_seq, np.random.bit_generator.ISpawnableSeedSequence):
        raise DtypeError("rng", "a generator without a spawnable seed", "must be able to spawn")
    return GeneratorSource(rng)


def checked_source(stream: object) -> Source:
    """Return a source that a caller gives.

    Raises
    ------
    DtypeError
        It is something else, such as a generator.
    """
    methods = (getattr(stream, name, None) for name in ("fill", "spawn"))
    if isinstance(stream, type) or not all(map(callable, methods)):
        raise DtypeError("stream", type(stream).__name__, "must be a source of words, as of source")
    return cast(Source, stream)


def public_generator(rng: np.random.Generator | None) -> np.random.Generator:
    """Return the generator, or one with fresh entropy, for draws that need not be secret.

    Raises
    ------
    DtypeError
        ``rng`` is something else.
    """
    if rng is None:
        return np.random.default_rng()
    if not isinstance(rng, np.random.Generator):
        raise DtypeError("rng", type(rng).__name__, _instead.generator(rng, ", or None"))
    return rng


def random_bytes(length: int, stream: Source) -> bytes:
    """Return random bytes, a multiple of 8; outside of studies from the operating system."""
    if not stream.simulated:
        return os.urandom(length)
    words = np.empty(length // 8, np.uint64)
    stream.fill(words)
    return words.tobytes()


def below(bound: int, stream: Source) -> int:
    """Return an exactly uniform integer of at least 0 and below ``bound``."""
    while True:  # continues with a probability below bound / 2^64
        word = int.from_bytes(random_bytes(8, stream), "little")
        if word < _WORD - _WORD % bound:
            return word % bound


def checked_key(key: object) -> bytes:
    """Return a key of 32 bytes; errors do not show it."""
    if not isinstance(key, bytes):
        raise DtypeError("key", type(key).__name__, "must be bytes")
    if len(key) != KEY_BYTES:
        raise ParameterError("key", len(key), f"must be {KEY_BYTES} bytes")
    return key


def _key_stream(key: bytes, first: bytes) -> CipherContext:
    return Cipher(algorithms.AES(key), modes.CTR(first)).encryptor()


def _overwrite(words: NDArray[np.uint64], stream: CipherContext) -> None:
    for start in range(0, words.size, _MOST_WORDS):
        part = words[start : start + _MOST_WORDS].view(np.uint8).data
        stream.update_into(_ZEROS[: len(part)], part)
