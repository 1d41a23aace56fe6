"""The secret of a server that makes noise, and a hash of what its clients have sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from ...noise.sources import KEY_BYTES, Source, random_bytes
from ..protocol import wire
from ..protocol.rounds import Memory

__all__ = ["ServerSecret"]

_CONTENT_BYTES: Final = 32
_SETTLED: Final = b"dpcore settled report"
_NOISE: Final = b"dpcore server noise"


@dataclass(frozen=True, slots=True, repr=False)
class ServerSecret(Memory):
    """The bytes that a server's noise is made of.

    Parameters
    ----------
    noise_key
        32 secret bytes.
    content
        256 bits for what settled clients have sent. They are the exclusive or of the keyed hashes
        of the reports: the same in any order, and different for other reports.
    """

    noise_key: bytes
    content: int = 0

    @classmethod
    def drawn(cls, stream: Source) -> Self:
        """Return a new secret."""
        return cls(random_bytes(KEY_BYTES, stream))

    @classmethod
    def read(cls, read: Callable[[int], bytes]) -> Self:
        """Return a secret from a file."""
        return cls(read(KEY_BYTES), int.from_bytes(read(_CONTENT_BYTES), "little"))

    def to_bytes(self) -> bytes:
        """Return the key and the content."""
        return self.noise_key + self.content.to_bytes(_CONTENT_BYTES, "little")

    def with_settled(self, kind: int, payloads: Mapping[bytes, bytes]) -> Self:
        """Return the secret with reports in its content."""
        return replace(self, content=self.content_with(kind, payloads))

    def content_with(self, kind: int, payloads: Mapping[bytes, bytes]) -> int:
        """Return the content with reports in it, too."""
        content, start = self.content, _SETTLED + bytes([kind])
        for report_id, payload in payloads.items():
            said = start + report_id + payload
            content ^= int.from_bytes(wire.keyed_hash(self.noise_key, said), "little")
        return content

    def with_all_of(self, other: Memory) -> Self:
        """Return this key with what both servers' clients have sent."""
        assert isinstance(other, ServerSecret)
        return replace(self, content=self.content ^ other.content)

    def key(self, context: bytes) -> bytes:
        """Return the key of the noise, from the secret, the round, and what clients have sent.

        A server that starts again from an older file and closes with other reports has independent
        noise for them, even if they have the same ids, which are not secret. With the same noise,
        the two releases would show in what the reports differ (docs/proofs/function-sharing.md,
        section 10).
        """
        content = self.content.to_bytes(_CONTENT_BYTES, "little")
        return wire.keyed_hash(self.noise_key, _NOISE + context + content)
