"""Function sharing: keys for comparisons, and one server's sums at some or all thresholds.

The floor is AES alone: as many blocks as the construction encrypts, 64 kB at a time. A call returns
one server's part of the counts at thresholds. To check the counts, the other server's part is
evaluated outside of the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dpcore.trust import comparison
from dpcore.trust.comparison import layout
from dpcore.trust.comparison.plan import plan

from ..registry import Call, Contender, Job

BITS, SYCRET_BITS, FULL_BITS, POINTS = 16, 32, 15, 64
CHECKED = 8  # thresholds at which counts are compared
BLOCK, AT_ONCE = 16, 2**16  # bytes
SYCRET_OFF = 20  # of 10^5 comparisons; one in 2^16 is expected to be wrong at most
SYCRET_AT_ONCE = 2**12  # keys in a call, where clients are fewer

Counts = Callable[[np.ndarray], np.ndarray]


class Inputs(NamedTuple):
    values: np.ndarray
    thresholds: np.ndarray

    @property
    def checked(self) -> np.ndarray:
        return self.thresholds[:: -(-self.thresholds.size // CHECKED)]

    @property
    def counts(self) -> np.ndarray:
        return np.searchsorted(np.sort(self.values), self.checked, side="right")


def inputs(bits: int, thresholds: np.ndarray):
    """Return a function that makes the inputs of so many clients."""

    def make(size: int) -> Inputs:
        values = np.random.default_rng(1).beta(2, 5, size) * 2**bits
        return Inputs(values.astype(np.int64), thresholds)

    return make


def generation_blocks(bits: int) -> int:
    """Return how many blocks are encrypted for one client's two keys."""
    return 2 * (3 * layout.levels(bits) + layout.outputs(bits) // 2)


def evaluation_blocks(bits: int, thresholds: np.ndarray) -> int:
    """Return how many blocks one server has to encrypt for one client, in one walk."""
    return plan(np.sort(thresholds), bits).blocks


# --- ours


def ours_keys(bits: int):
    """Return keys of so many bits; with more bits than the values, for multiples of the values."""
    shift = bits - BITS

    def start(given: Inputs) -> Call:
        values = given.values << shift

        def call() -> Counts:
            first, second = comparison.gen(values, bits)
            return lambda t: summed(first, t << shift) + summed(second, t << shift)

        return call

    return start


def ours_sums(bits: int, workers: int, shift: int = 0):
    def start(given: Inputs) -> Call:
        first, second = comparison.gen(given.values << shift, bits)
        asked = None if given.thresholds.size == 2**bits else given.thresholds << shift

        def call() -> Counts:
            sums = comparison.evaluate_sum(first, asked, workers)
            return lambda t: sums[np.searchsorted(given.thresholds, t)] + summed(second, t << shift)

        return call

    return start


def summed(keys: comparison.Keys, thresholds: np.ndarray) -> np.ndarray:
    return comparison.evaluate_sum(keys, thresholds)


# --- sycret: [value <= t] is evaluated at the key's random mask + value - t, modulo 2^32


class Sycret:
    """Keys of sycret for clients, and the masked values that all servers know."""

    def __init__(self, size: int, threads: int) -> None:
        from sycret import LeFactory

        self.threads, self.factory = threads, LeFactory(n_threads=threads)
        self.keys = self.factory.keygen(size)

    def masked(self, values: np.ndarray) -> np.ndarray:
        return self.factory.alpha(*self.keys).astype(np.int64) + values

    def sums(self, party: int, masked: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return sums over clients; for many thresholds, few clients at a time."""
        width = max(1, SYCRET_AT_ONCE // masked.size)
        keys = np.tile(self.keys[party], (width, 1))
        sums = []
        for start in range(0, thresholds.size, width):
            points = (masked - thresholds[start : start + width, None]).reshape(-1)
            found = self.factory.eval(party, points, keys[: points.size], self.threads)
            sums.append(found.reshape(-1, masked.size).sum(axis=1))
        return np.concatenate(sums)

    def counts(self, masked: np.ndarray, thresholds: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return both servers' sums, added up."""
        return (first + self.sums(1, masked, thresholds)) % 2**SYCRET_BITS


def sycret_keys(threads: int):
    def start(given: Inputs) -> Call:
        def call() -> Counts:
            made = Sycret(given.values.size, threads)
            masked = made.masked(given.values)  # also from the client, which sends it with its keys
            return lambda t: made.counts(masked, t, made.sums(0, masked, t))

        return call

    return start


def sycret_sums(threads: int):
    def start(given: Inputs) -> Call:
        made = Sycret(given.values.size, threads)
        masked = made.masked(given.values)

        def call() -> Counts:
            sums = made.sums(0, masked, given.thresholds)
            return lambda t: made.counts(masked, t, sums[np.searchsorted(given.thresholds, t)])

        return call

    return start


# --- the floor


def aes(blocks: Callable[[Inputs], int]):
    """Encrypt so many blocks for each client, and do nothing else with them."""

    def start(given: Inputs) -> Call:
        calls, rest = divmod(BLOCK * blocks(given) * given.values.size, AT_ONCE)
        encryptor = Cipher(algorithms.AES(bytes(BLOCK)), modes.ECB()).encryptor()
        plain, to = np.zeros(AT_ONCE, np.uint8), np.empty(AT_ONCE + BLOCK, np.uint8)

        def call() -> None:
            for _ in range(calls):
                encryptor.update_into(plain, to)
            encryptor.update_into(plain[:rest], to)

        return call

    return start


# --- jobs


def disagreements(given: Inputs, outcomes: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name, counts in outcomes.items():
        off = np.abs(counts.astype(np.int64) - given.counts).max()
        if off > (SYCRET_OFF if name.startswith("sycret") else 0):
            found[name] = f"a count is off by {off}"
    return found


def sycret(
    start: Callable[[int], Any], threads: Sequence[int] = (2,), largest: int | None = None
) -> list[Contender]:
    return [
        Contender(
            f"sycret, {SYCRET_BITS} bits, n_threads={each}; rarely wrong: masks wrap around",
            "peer",
            start(each),
            needs="sycret",
            largest=largest,
        )
        for each in threads
    ]


def job(
    name: str,
    title: str,
    sizes: tuple[int, ...],
    quick: tuple[int, ...],
    made: tuple[int, np.ndarray],
    contenders: list[Contender],
) -> Job:
    return Job(
        name=name,
        title=title,
        unit="clients",
        sizes=sizes,
        quick=quick,
        small=2,
        memory=sizes[-1],
        make=inputs(*made),
        outcome=lambda given, answer: answer(given.checked),
        disagreements=disagreements,
        agreement=(
            f"equal counts at {CHECKED} thresholds; sycret's may differ by at most {SYCRET_OFF},"
            " because its comparisons are wrong if a random mask wraps around"
        ),
        contenders=tuple(contenders),
    )


SPREAD = np.arange(1, POINTS + 1) * (2**BITS // (POINTS + 1))
EVERYWHERE = np.arange(2**FULL_BITS)
ONE, TWO = "dpcore, one thread", "dpcore, two threads"

JOBS = (
    job(
        "function-keys",
        f"Share comparisons with values below 2^{BITS}: both servers' keys",
        (10**5,),
        (10**4,),
        (BITS, SPREAD),
        [
            Contender(f"dpcore, {BITS} bits", "ours", ours_keys(BITS)),
            Contender(f"dpcore, {SYCRET_BITS} bits", "ours", ours_keys(SYCRET_BITS)),
            *sycret(sycret_keys, threads=(1, 2)),
            Contender(
                f"AES alone: the blocks of {BITS} bits",
                "floor",
                aes(lambda given: generation_blocks(BITS)),
            ),
            Contender(
                f"AES alone: the blocks of {SYCRET_BITS} bits",
                "floor",
                aes(lambda given: generation_blocks(SYCRET_BITS)),
            ),
        ],
    ),
    job(
        "function-points",
        f"A server's sums of shared comparisons at {POINTS} thresholds below 2^{BITS}",
        (10**5,),
        (10**4,),
        (BITS, SPREAD),
        [
            Contender(ONE, "ours", ours_sums(BITS, 1)),
            Contender(TWO, "ours", ours_sums(BITS, 2)),
            Contender(
                f"dpcore, {SYCRET_BITS} bits, one thread",
                "ours",
                ours_sums(SYCRET_BITS, 1, SYCRET_BITS - BITS),
            ),
            *sycret(sycret_sums),
            Contender(
                "AES alone", "floor", aes(lambda given: evaluation_blocks(BITS, given.thresholds))
            ),
        ],
    ),
    job(
        "function-everywhere",
        f"A server's sums of shared comparisons at all 2^{FULL_BITS} thresholds",
        (20, 1000, 10**4),
        (20, 1000),
        (FULL_BITS, EVERYWHERE),
        [
            Contender(ONE, "ours", ours_sums(FULL_BITS, 1)),
            Contender(TWO, "ours", ours_sums(FULL_BITS, 2)),
            *sycret(sycret_sums, largest=20),
            Contender(
                "AES alone",
                "floor",
                aes(lambda given: evaluation_blocks(FULL_BITS, given.thresholds)),
            ),
        ],
    ),
)
