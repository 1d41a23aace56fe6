"""Noise of running sums from buffers that decay: a Toeplitz matrix times draws, in integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel

FINER = 12  # bits of a buffer that are finer than the lattice of the draws
LIMB = 31
LOW = 2**LIMB - 1


@kernel
def buffered(
    out: NDArray[np.int64],
    draws: NDArray[np.int64],
    held: NDArray[np.int64],
    decays: NDArray[np.int64],
    weights: NDArray[np.int64],
) -> None:
    """Overwrite the noise of the next steps.

    The noise is the draw, plus the sum of all earlier draws times a weight, plus each buffer times
    its weight. After a step, buffer i is (1 - its decay) times itself, plus the draw.

    Parameters
    ----------
    out, draws
        (K, W); ``out`` is overwritten.
    held
        (2 d + 1, W), updated in place: the sum of all earlier draws; the d buffers, in units of
        2^-FINER; the d remainders of their decays. Zeros before the first step.
    decays
        (d, 2) mantissa m in [0, 2^31) and exponent k in 0, ..., 31, for m / 2^(31 + k).
    weights
        (d + 1, 2), in the same form: of the sum, and of the buffers.

    Notes
    -----
    It takes O(K W d). A product is floor(floor(u m / 2^31) / 2^k), with u in two limbs, which is
    the floor of the whole product. What a decay rounds away by the second floor is added to the
    next one. So a buffer is off by more than -1 and less than 3 units at any time, as long as
    sums and buffers are below 2^62 units: docs/proofs/buffers.md.
    """
    steps, width = out.shape
    buffers = decays.shape[0]
    for t in range(steps):
        for w in range(width):
            drawn = draws[t, w]
            value = held[0, w] << FINER
            product = (value >> LIMB) * weights[0, 0] + (((value & LOW) * weights[0, 0]) >> LIMB)
            total = product >> weights[0, 1]
            held[0, w] += drawn
            for i in range(buffers):
                value = held[1 + i, w]
                high, low = value >> LIMB, value & LOW
                weight, decay = weights[1 + i, 0], decays[i, 0]
                total += (high * weight + ((low * weight) >> LIMB)) >> weights[1 + i, 1]
                lost = high * decay + ((low * decay) >> LIMB) + held[1 + buffers + i, w]
                whole = lost >> decays[i, 1]
                held[1 + buffers + i, w] = lost - (whole << decays[i, 1])
                held[1 + i, w] = value - whole + (drawn << FINER)
            out[t, w] = drawn + (total >> FINER)


@kernel
def rescaled_variances(
    factors: NDArray[np.float64],
    decays: NDArray[np.float64],
    shares: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Overwrite the variances of running sums of increments of buffered noise, each times a factor.

    An increment is the new draw minus the sum of each buffer times its share and its decay.

    Parameters
    ----------
    factors, out
        (T,); ``out`` is overwritten.
    decays, shares
        (d,) of the buffers.

    Notes
    -----
    It takes O(T d^2). Invariant, before each step: ``covariance`` is that of the buffers for draws
    of variance 1, and ``crossed`` are their covariances with the running sum.
    """
    count = decays.size
    covariance = np.zeros((count, count))
    crossed = np.zeros(count)
    with_increment = np.zeros(count)
    total = 0.0
    for t in range(factors.size):
        increment, both = 1.0, 0.0
        for i in range(count):
            with_increment[i] = 0.0
            for j in range(count):
                with_increment[i] -= covariance[i, j] * shares[j] * decays[j]
            increment -= with_increment[i] * shares[i] * decays[i]
            both -= crossed[i] * shares[i] * decays[i]
        total += factors[t] * (2.0 * both + factors[t] * increment)
        out[t] = total
        for i in range(count):
            kept = 1.0 - decays[i]
            crossed[i] = kept * (crossed[i] + factors[t] * with_increment[i]) + factors[t]
            for j in range(count):
                covariance[i, j] = kept * (1.0 - decays[j]) * covariance[i, j] + 1.0


@kernel
def rescaled_differences(
    factors: NDArray[np.float64],
    decays: NDArray[np.float64],
    shares: NDArray[np.float64],
    level: float,
    out: NDArray[np.float64],
) -> None:
    """Overwrite the variances of the last running sum minus each of them, as above.

    Parameters
    ----------
    factors, out
        (T,); ``out`` is overwritten.
    decays, shares
        (d,) of the buffers.
    level
        The share of the buffer that does not decay.

    Notes
    -----
    It takes O(T d^2). The draws after step t weigh in the difference what they weigh in the last
    sum. The draws up to t come in through the buffers after t. Invariant, before each step, from
    the last one to the first: ``ahead`` is the weight of each buffer after step t in the noise of
    the later steps times their factors' differences; ``newer`` is the sum of the squared weights
    of all later draws.
    """
    count, steps = decays.size, factors.size
    ahead, kept = np.zeros(count), 1.0 - decays
    on_buffer = np.zeros(count)
    alone = 1.0 - level
    for i in range(count):
        alone -= shares[i]
    newer, after = 0.0, 0.0  # ``after`` is the factor of the next step
    for t in range(steps - 1, -1, -1):
        variance, newest = newer, -alone * after  # the next increment takes this noise away
        for i in range(count):
            on_buffer[i] = shares[i] * (ahead[i] - after)
        # what comes through the buffer that does not decay goes out again
        for i in range(count):
            for j in range(count):
                both = decays[i] + decays[j] - decays[i] * decays[j]
                filled = -np.expm1((t + 1) * np.log1p(-both)) / both if both < 1.0 else 1.0
                variance += on_buffer[i] * on_buffer[j] * filled
            variance += 2.0 * on_buffer[i] * newest
        out[t] = variance + newest * newest
        share = factors[t] - after  # of this step's noise in the last sum
        weight = share + level * after
        for i in range(count):
            weight += shares[i] * ahead[i]
            ahead[i] = kept[i] * (share + ahead[i])
        newer += weight * weight
        after = factors[t]
