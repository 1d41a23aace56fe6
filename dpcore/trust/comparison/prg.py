"""The pseudo-random generator of the trees: AES-128 under fixed public keys."""

from __future__ import annotations

import hashlib
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

__all__ = ["LEFT", "NUMBERS", "RIGHT", "Ciphers"]

LEFT, RIGHT, NUMBERS = 0, 1, 2  # the uses of the ciphers above the leaves

_KEYS: Final = tuple(
    hashlib.sha256(b"dpcore comparison prg " + bytes([i])).digest()[:16] for i in range(4)
)  # nothing up the sleeve


class Ciphers:
    """Four ciphers, for one thread at a time.

    AES_k(x) xor x is pseudo-random. The kernels do the xor, in the pass that uses it.
    """

    def __init__(self) -> None:
        ciphers = (Cipher(algorithms.AES(key), modes.ECB()) for key in _KEYS)
        self._encryptors = [cipher.encryptor() for cipher in ciphers]

    def encrypt(self, which: int, blocks: memoryview, out: memoryview) -> None:
        """Encrypt blocks, as bytes, into ``out``, which must have room for one block more."""
        self._encryptors[which].update_into(blocks, out)
