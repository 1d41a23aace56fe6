"""Masks of secure aggregation that use the whole key, in the place of Flower's.

Flower folds the key of a mask to 32 bits and gives them to a Mersenne Twister. The key of two
clients is base64 text, of which 28 bits are left. So there are few masks, which somebody can try
one after the other, and the generator was not made to keep secrets. Here a mask is the key stream
of AES-256. All clients and the server of a run must use the same masks: otherwise they do not
cancel.
"""

from __future__ import annotations

import hashlib
import importlib
import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from flwr.common.secure_aggregation.secaggplus_utils import pseudo_rand_gen
from numpy.typing import NDArray

from dpcore.errors import ParameterError

__all__ = ["full_seed_masks", "install"]

Masks = Callable[[bytes, int, list[tuple[int, ...]]], list[NDArray[np.int64]]]

_LABEL: Final = b"mask of secure aggregation, AES-256-CTR"
_WORD: Final = np.dtype("<u4")
_MOST: Final = 2 ** (8 * _WORD.itemsize)
_USERS: Final = (
    "flwr.client.mod.secure_aggregation.secaggplus_mod",
    "flwr.server.workflow.secure_aggregation.secaggplus_workflow",
)


def full_seed_masks(
    seed: bytes, num_range: int, dimensions_list: list[tuple[int, ...]]
) -> list[NDArray[np.int64]]:
    """Return masks for arrays of the given shapes, uniform over 0 to ``num_range`` - 1.

    Parameters
    ----------
    seed
        The key of the masks. It is hashed to a key of AES-256 that is used for nothing else.
    num_range
        A power of two, at most 2^32.
    dimensions_list
        The shapes of the arrays.

    Raises
    ------
    ParameterError
        ``num_range`` is not as above.
    """
    if num_range < 1 or num_range.bit_count() != 1 or num_range > _MOST:
        raise ParameterError("num_range", num_range, "must be a power of two, at most 2^32")
    key = hashlib.sha256(_LABEL + seed).digest()
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def mask(shape: tuple[int, ...]) -> NDArray[np.int64]:
        content = stream.update(bytes(_WORD.itemsize * math.prod(shape)))
        words = np.frombuffer(content, _WORD).astype(np.int64)
        return (words & (num_range - 1)).reshape(shape)

    return [mask(shape) for shape in dimensions_list]


_CHOICES: Final = MappingProxyType[str, Masks](
    {"full-seed": full_seed_masks, "flower": pseudo_rand_gen}
)


def install(name: str) -> None:
    """Let Flower's secure aggregation in this process use the masks of this name.

    A second call changes nothing, or changes to other masks.

    Parameters
    ----------
    name
        "full-seed", the masks of this file, or "flower".

    Raises
    ------
    ParameterError
        The name is another.
    """
    if name not in _CHOICES:
        raise ParameterError("masks", name, f"must be one of {', '.join(_CHOICES)}")
    # Both modules have imported the function by its name, so it is replaced in both.
    for user in _USERS:
        module = importlib.import_module(user)
        if not hasattr(module, "pseudo_rand_gen"):
            raise ParameterError("masks", name, f"needs pseudo_rand_gen, which {user} has no more")
        module.pseudo_rand_gen = _CHOICES[name]  # type: ignore[attr-defined]
