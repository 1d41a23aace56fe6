"""Lattices of bounded vectors, as sets: all integers that may stand for a vector, one by one."""

from __future__ import annotations

import itertools
import math


def box(lower, upper, steps, from_lower):
    """0 to ``steps`` in each coordinate; or those between the bounds, with 0 in its place."""
    ranges = []
    for low, high in zip(lower, upper, strict=True):
        if from_lower:
            ranges.append(range(steps + 1))
        else:
            unit = max(abs(low), abs(high)) / steps
            ranges.append(range(math.floor(low / unit), math.ceil(high / unit) + 1))
    return set(itertools.product(*ranges))


def ball(size, norm, steps):
    """Integers up to a length; rounding may make a Euclidean length longer by sqrt(size) steps."""
    most = steps if norm == 1 else steps + math.ceil(math.sqrt(size))
    every = itertools.product(range(-most, most + 1), repeat=size)
    return {z for z in every if sum(abs(number) ** norm for number in z) <= most**norm}


def simplex(size, steps):
    """Integers of 0 or more up to a sum."""
    return {z for z in itertools.product(range(steps + 1), repeat=size) if sum(z) <= steps}


def groups(count, inner):
    """A vector of a set in one of several blocks, or zeros."""
    size = len(next(iter(inner)))
    blocks = {
        (0,) * (size * at) + z + (0,) * (size * (count - 1 - at))
        for at in range(count)
        for z in inner
    }
    return blocks | {(0,) * (size * count)}


def joint(*sets):
    """Vectors of several sets, one behind the other."""
    return {sum(parts, ()) for parts in itertools.product(*sets)}


def longest(vectors):
    """The largest sum of absolute numbers, and of squares."""
    return (
        max(sum(map(abs, z)) for z in vectors),
        max(sum(number**2 for number in z) for z in vectors),
    )


def apart(vectors):
    """The same of all differences."""
    return longest(
        {
            tuple(a - b for a, b in zip(*pair, strict=True))
            for pair in itertools.product(vectors, repeat=2)
        }
    )
