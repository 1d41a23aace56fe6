"""Where random bits come from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from ..errors import DtypeError

__all__ = ["CryptographicSource", "GeneratorSource", "Source", "random_bytes", "source"]

_MOST_WORDS: Final = 2**15  # 256 KiB at a time: within the second-level cache
_ZEROS: Final = memoryview(bytes(8 * _MOST_WORDS))


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
    """The key stream of AES-256 in counter mode, keyed afresh from the operating system.

    Each source has its own key and first counter block, drawn when it is first used, lives for one
    call, and is never stored: nothing to seed, to leak, or to share after a fork. Why not
    ``os.urandom`` for each word: it is more than ten times slower (docs/noise.md).
    """

    simulated = False

    def __init__(self) -> None:
        self._stream: CipherContext | None = None  # many only spawn others

    def fill(self, words: NDArray[np.uint64]) -> None:
        """Overwrite ``words`` with the next words of the stream."""
        if self._stream is None:
            key, first = os.urandom(32), os.urandom(16)
            self._stream = Cipher(algorithms.AES(key), modes.CTR(first)).encryptor()
        for start in range(0, words.size, _MOST_WORDS):
            part = words[start : start + _MOST_WORDS].view(np.uint8).data
            self._stream.update_into(_ZEROS[: len(part)], part)

    def spawn(self, count: int) -> list[CryptographicSource]:
        """Return ``count`` sources with keys of their own."""
        return [CryptographicSource() for _ in range(count)]


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
        ``rng`` is something else: an integer seed, a legacy RandomState, or a generator that
        cannot be spawned. Integer seeds are refused because two calls with one seed would add
        the same noise twice.
    """
    if rng is None:
        return CryptographicSource()
    if not isinstance(rng, np.random.Generator):
        raise DtypeError(
            "rng", type(rng).__name__, "must be None or a numpy.random.Generator (no integer seeds)"
        )
    if not isinstance(rng.bit_generator.seed_seq, np.random.bit_generator.ISpawnableSeedSequence):
        raise DtypeError("rng", "a generator without a spawnable seed", "must be able to spawn")
    return GeneratorSource(rng)


def random_bytes(length: int, stream: Source) -> bytes:
    """Return random bytes, a multiple of 8: from the operating system, but in a study."""
    if not stream.simulated:
        return os.urandom(length)
    words = np.empty(length // 8, np.uint64)
    stream.fill(words)
    return words.tobytes()
