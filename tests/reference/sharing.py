"""Distributed comparison functions: one key and one threshold at a time, in Python's integers.

Boyle et al. 2021, Fig. 1, with outputs in Z_2^64, ending early. A block is an integer below 2^128
whose lowest bit is the control bit; as bytes it is little-endian.
"""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

WORD = 2**64


def pseudo_random(which: int, block: int) -> int:
    """The hash of a block by one of four fixed permutations: AES_k(x) xor x."""
    key = hashlib.sha256(b"dpcore comparison prg " + bytes([which])).digest()[:16]
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return int.from_bytes(encryptor.update(block.to_bytes(16, "little")), "little") ^ block


def comparison_children(block: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The blocks, and the numbers, of the left and the right child."""
    numbers = pseudo_random(2, block)
    return (pseudo_random(0, block), pseudo_random(1, block)), (numbers % WORD, numbers // WORD)


def comparison_outputs(block: int, count: int) -> list[int]:
    """What a leaf's block is converted to."""
    blocks = [pseudo_random(which, block) for which in range(count // 2)]
    return [word for each in blocks for word in (each % WORD, each // WORD)]


def comparison_keys(value: int, bits: int, roots: tuple[int, int]) -> tuple[list[int], list[int]]:
    """Both parties' keys as words: seed, (correction, number) of each level, controls, outputs."""
    early = min(3, bits)
    blocks = [root - root % 2 + party for party, root in enumerate(roots)]
    keys = [[block % WORD, block // WORD] for block in blocks]
    shared, controls, total = [], 0, 0
    for level in range(bits - early):
        keep = value >> (bits - 1 - level) & 1
        lose = 1 - keep
        t = [block % 2 for block in blocks]
        made = [comparison_children(block) for block in blocks]
        sign = -1 if t[1] else 1
        correction = made[0][0][lose] ^ made[1][0][lose]
        control = [made[0][0][side] % 2 ^ made[1][0][side] % 2 for side in (0, 1)]
        control = [control[0] ^ keep ^ 1, control[1] ^ keep]
        number = sign * (made[1][1][lose] - made[0][1][lose] - total + (lose == 1)) % WORD
        total = (total + made[0][1][keep] - made[1][1][keep] + sign * number) % WORD
        seed = correction - correction % 2
        blocks = [made[b][0][keep] ^ (t[b] * (seed + control[keep])) for b in (0, 1)]
        shared += [(seed + control[0]) % WORD, seed // WORD, number]
        controls += control[1] << level
    sign = -1 if blocks[1] % 2 else 1
    ends = [comparison_outputs(block, 2**early) for block in blocks]
    shared.append(controls)
    for j in range(2**early):
        above = j >= value % 2**early
        shared.append(sign * (ends[1][j] - ends[0][j] - total + above) % WORD)
    return keys[0] + shared, keys[1] + shared


def comparison_controls(key: list[int], bits: int, threshold: int) -> list[int]:
    """A party's control bits on the way to a threshold, the root's first."""
    return [block % 2 for block, _ in _nodes(key, bits, threshold)]


def comparison(party: int, key: list[int], bits: int, threshold: int) -> int:
    """A party's share of whether the value is at most the threshold."""
    early = min(3, bits)
    block, total = _nodes(key, bits, threshold)[-1]
    j = threshold % 2**early
    total += comparison_outputs(block, 2**early)[j]
    total += block % 2 * key[3 + 3 * (bits - early) + j]
    return (-total if party else total) % WORD


def _nodes(key: list[int], bits: int, threshold: int) -> list[tuple[int, int]]:
    """The blocks on the way to a threshold's leaf, and what is added up before each."""
    levels = bits - min(3, bits)
    nodes = [(key[0] + WORD * key[1], 0)]
    for level in range(levels):
        block, total = nodes[-1]
        low, high, number = key[2 + 3 * level : 5 + 3 * level]
        side = threshold >> (bits - 1 - level) & 1
        made, numbers = comparison_children(block)
        control = key[2 + 3 * levels] >> level & 1 if side else low % 2
        correction = low - low % 2 + control + WORD * high
        t = block % 2
        nodes.append((made[side] ^ t * correction, total + numbers[side] + t * number))
    return nodes
