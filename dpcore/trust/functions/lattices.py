"""Lattices of integers to which bounded vectors are rounded, and what a vector changes there.

All that privacy rests on is in integers: whatever the values are, ``rounded`` returns integers of
a set whose diameters are ``apart`` and whose lengths are ``size`` (docs/proofs/vector-sums.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...noise.sources import Source

__all__ = [
    "BallLattice",
    "BoxLattice",
    "GroupsLattice",
    "JointLattice",
    "Lattice",
    "Lengths",
    "SimplexLattice",
]

_FINER: Final = 20  # values are first rounded to 2^-20 steps; then random bits decide
_FINE: Final = 1 << _FINER
# It covers the rounding of sums of up to 2^24 squares, and of values whose ``change`` is stated.
_MARGIN: Final = 1.0 + 2.0**-26
_TOO_MANY: Final = 2.0**61  # steps: no sum takes so many, and differences of two fit in 64 bits
_FAR: Final = 2.0**100  # units: no two vectors of such a lattice are so far apart

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]


class Lengths(NamedTuple):
    """Upper bounds of a length: the sum of absolute numbers, and the sum of their squares."""

    absolute: int
    squares: int

    def __add__(self, other: object) -> Lengths:
        assert isinstance(other, Lengths)
        return Lengths(self.absolute + other.absolute, self.squares + other.squares)


class Lattice(ABC):
    """Integers that stand for the vectors of a bound, in steps.

    Attributes
    ----------
    units
        (d,) the value of a step.
    zeros
        (d,) the value for which 0 stands.
    least, most
        (d,) the range of each integer.
    apart
        Bounds of the distance of two rounded vectors.
    longest
        Bounds of the length of a rounded vector.
    """

    units: Reals
    zeros: Reals
    least: Integers
    most: Integers
    apart: Lengths
    longest: Lengths

    @abstractmethod
    def rounded(self, values: Reals, stream: Source) -> Integers:
        """Return (n, d) integers for (n, d) values, which are clipped to the bound.

        In expectation, an integer is the clipped value in steps, up to 2^-20 steps.
        """

    @abstractmethod
    def contains(self, numbers: Integers) -> bool:
        """Say whether (n, d) integers are ones that ``rounded`` can return."""

    @property
    def largest(self) -> int:
        """The largest absolute number of any coordinate."""
        return int(max(self.most.max(), -self.least.min()))

    def values(self, totals: Integers, n: int) -> Reals:
        """Return the sums of values of which n records have these totals, (d,)."""
        return np.asarray(totals * self.units + n * self.zeros)

    def _seal(self) -> None:
        """Make the arrays read-only: all rounds of a function share its lattice."""
        for array in (self.units, self.zeros, self.least, self.most):
            array.flags.writeable = False


class BoxLattice(Lattice):
    """A range for each coordinate."""

    def __init__(
        self,
        lower: Sequence[float],
        upper: Sequence[float],
        units: Sequence[float] | None,
        changes: tuple[float | None, float | None],
        steps: int,
        from_lower: bool,
    ) -> None:
        low, high = np.array(lower), np.array(upper)
        zeros = low if from_lower else np.zeros(low.size)
        if units is None:
            whole = high - low if from_lower else np.maximum(np.abs(low), np.abs(high))
        else:
            whole = np.array(units)
        self.units, self.zeros, self._steps = whole / steps, zeros, steps / whole
        # With own units these are 0 and ``steps``, or at most ``steps`` on either side of 0.
        self.least = _whole(np.floor((low - zeros) / whole * steps))
        self.most = _whole(np.ceil((high - zeros) / whole * steps))
        if units is None:
            self.least, self.most = np.maximum(self.least, -steps), np.minimum(self.most, steps)
        self._low, self._high = low, high
        self._seal()
        self.longest = _lengths(np.maximum(np.abs(self.least), np.abs(self.most)))
        self.apart = _lengths(self.most - self.least)
        change, absolute_change = changes  # rounding moves each of two vectors by less than a step
        if change is not None:
            across = (min(change, _FAR) * steps + 2.0 * math.sqrt(low.size)) * _MARGIN
            squares = min(self.apart.squares, math.ceil(across**2 * _MARGIN))
            absolute = math.ceil(across * math.sqrt(low.size) * _MARGIN)
            self.apart = Lengths(min(self.apart.absolute, absolute), squares)
        if absolute_change is not None:
            far = min(absolute_change, _FAR) * steps
            absolute = math.ceil((far + 2.0 * low.size) * _MARGIN)
            self.apart = self.apart._replace(absolute=min(self.apart.absolute, absolute))

    def rounded(self, values: Reals, stream: Source) -> Integers:
        """Return (n, d) integers for (n, d) values."""
        scaled = np.clip(values, self._low, self._high)
        scaled -= self.zeros
        scaled *= self._steps * _FINE
        fine = np.nan_to_num(np.rint(scaled, out=scaled), copy=False).astype(np.int64)
        # After these lines only integers matter.
        np.clip(fine, self.least * _FINE, self.most * _FINE, out=fine)
        return _up_or_down(fine, stream)

    def contains(self, numbers: Integers) -> bool:
        """Say whether (n, d) integers are within the bound."""
        return bool(np.all((numbers >= self.least) & (numbers <= self.most)))


class BallLattice(Lattice):
    """A largest length: the sum of absolute values (norm 1) or the Euclidean length (norm 2)."""

    def __init__(self, size: int, radius: float, norm: int, steps: int) -> None:
        self._radius, self._norm, self._steps = radius, norm, steps
        self.units, self.zeros = np.full(size, radius / steps), np.zeros(size)
        if norm == 1:
            self._longest = steps
            self.longest = Lengths(steps, steps**2)
        else:  # rounding moves a vector by less than a step in each coordinate
            self._longest = steps + math.isqrt(size - 1) + 1
            squares = math.ceil(self._longest**2 * _MARGIN)
            self.longest = Lengths(math.isqrt(squares * size) + 1, squares)
        self.apart = Lengths(2 * self.longest.absolute, 4 * self.longest.squares)
        self.most = np.full(size, self._longest)
        self.least = -self.most
        self._seal()

    def rounded(self, values: Reals, stream: Source) -> Integers:
        """Return (n, d) integers for (n, d) values."""
        fine = self._clipped(values)
        if self._norm == 1:
            return _within(fine, self._steps, stream)
        numbers = _up_or_down(fine, stream)
        too_long = self._squares(numbers) > float(self._longest) ** 2
        if too_long.any():  # only arithmetic that fails gets here: the proof needs no more
            numbers[too_long] = 0
        return numbers

    def contains(self, numbers: Integers) -> bool:
        """Say whether (n, d) integers are within the bound."""
        if self._norm == 1:
            inside = np.all(np.abs(numbers) <= self._steps)
            return bool(inside and np.all(np.abs(numbers).sum(axis=1) <= self._steps))
        return bool(np.all(self._squares(numbers) <= float(self._longest) ** 2))

    def _clipped(self, values: Reals) -> Integers:
        """Return the values, shrunk into the ball, in 2^-20 steps."""
        finite = _in_rows(np.clip(np.nan_to_num(values, nan=0.0), -1e300, 1e300))
        largest = np.abs(finite).max(axis=1, keepdims=True)
        # A vector is first divided by its largest number, so that no square overflows.
        shape = finite / np.where(largest > 0, largest, 1.0)
        if self._norm == 1:
            length = np.abs(shape).sum(axis=1, keepdims=True)
        else:
            length = np.sqrt(np.square(shape).sum(axis=1, keepdims=True))
        length *= largest
        # No tiny length divides: NumPy's warning of an overflow would tell of a record.
        shrink: Reals = self._radius / np.maximum(length, self._radius)
        return np.rint(finite * shrink / self._radius * (self._steps * _FINE)).astype(np.int64)

    @staticmethod
    def _squares(numbers: Integers) -> Reals:
        reals = numbers.astype(np.float64)
        return np.asarray(np.square(reals).sum(axis=1))


class SimplexLattice(Lattice):
    """Numbers of 0 or more with a largest sum."""

    def __init__(self, size: int, most: float, steps: int) -> None:
        self._most, self._steps = most, steps
        self.units, self.zeros = np.full(size, most / steps), np.zeros(size)
        self.least, self.most = np.zeros(size, np.int64), np.full(size, steps)
        self._seal()
        self.longest = Lengths(steps, steps**2)
        # No two numbers of one vector can both be ``steps``; a product of two vectors is positive.
        self.apart = Lengths(2 * steps, 2 * steps**2) if size > 1 else self.longest

    def rounded(self, values: Reals, stream: Source) -> Integers:
        """Return (n, d) integers for (n, d) values."""
        parts = _in_rows(np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1e300))
        whole = parts.sum(axis=1, keepdims=True)
        parts *= self._most / np.maximum(whole, self._most)
        fine = np.rint(parts / self._most * (self._steps * _FINE)).astype(np.int64)
        return _within(fine, self._steps, stream)

    def contains(self, numbers: Integers) -> bool:
        """Say whether (n, d) integers are within the bound."""
        inside = np.all((numbers >= 0) & (numbers <= self._steps))
        return bool(inside and np.all(numbers.sum(axis=1) <= self._steps))


class GroupsLattice(Lattice):
    """A vector of one bound in one of several blocks, or none, and zeros in the others."""

    def __init__(self, groups: int, inner: Lattice) -> None:
        self._groups, self._inner = groups, inner
        self.units, self.zeros = np.tile(inner.units, groups), np.tile(inner.zeros, groups)
        self.least = np.minimum(np.tile(inner.least, groups), 0)
        self.most = np.maximum(np.tile(inner.most, groups), 0)
        self._seal()
        self.longest = inner.longest
        self.apart = inner.apart
        if groups > 1:  # vectors in different blocks
            both = inner.longest + inner.longest
            self.apart = Lengths(*map(max, both, inner.apart))
        self.apart = Lengths(*map(max, self.apart, inner.longest))  # or one is in none

    def rounded(self, values: Reals, stream: Source) -> Integers:
        """Return (n, d) integers for (n, d) values."""
        blocks = values.reshape(values.shape[0], self._groups, -1)
        present = np.any(blocks != 0, axis=2)
        own = present.argmax(axis=1)
        rows = np.flatnonzero(np.any(present, axis=1))  # the others are in no group
        numbers = np.zeros(blocks.shape, np.int64)
        numbers[rows, own[rows]] = self._inner.rounded(blocks[rows, own[rows]], stream)
        return numbers.reshape(values.shape)

    def contains(self, numbers: Integers) -> bool:
        """Say whether (n, d) integers are within the bound."""
        blocks = numbers.reshape(numbers.shape[0], self._groups, -1)
        present = np.any(blocks != 0, axis=2)
        rows, own = np.nonzero(present)
        alone = bool(np.all(present.sum(axis=1) <= 1))
        return alone and self._inner.contains(blocks[rows, own])


class JointLattice(Lattice):
    """Vectors of several bounds, one behind the other."""

    def __init__(self, parts: Sequence[Lattice]) -> None:
        self._parts = list(parts)
        for name in ("units", "zeros", "least", "most"):
            setattr(self, name, np.concatenate([getattr(part, name) for part in parts]))
        self._seal()
        self._ends = np.cumsum([part.units.size for part in parts])[:-1]
        self.apart = self.longest = Lengths(0, 0)
        for part in parts:
            self.apart, self.longest = self.apart + part.apart, self.longest + part.longest

    def rounded(self, values: Reals, stream: Source) -> Integers:
        """Return (n, d) integers for (n, d) values."""
        split = np.split(values, self._ends, axis=1)
        both = zip(self._parts, split, strict=True)
        return np.concatenate([part.rounded(own, stream) for part, own in both], axis=1)

    def contains(self, numbers: Integers) -> bool:
        """Say whether (n, d) integers are within the bound."""
        split = np.split(numbers, self._ends, axis=1)
        return all(part.contains(own) for part, own in zip(self._parts, split, strict=True))


def _whole(steps: Reals) -> Integers:
    """Return numbers of steps as integers. Those that are too many for a sum stay too many."""
    return np.clip(steps, -_TOO_MANY, _TOO_MANY).astype(np.int64)


def _in_rows(values: Reals) -> Reals:
    """Return records row by row: NumPy adds up a row in an order that depends on the layout.

    The type of a value in one record may decide the layout, and must not change other records.
    """
    return np.ascontiguousarray(values)


def _lengths(distances: Integers) -> Lengths:
    whole = distances.tolist()  # in Python's integers: no square overflows
    return Lengths(sum(whole), sum(number**2 for number in whole))


def _bits(count: int, stream: Source) -> Integers:
    """Return uniform integers of 20 bits."""
    words = np.empty(-(-count // 2), np.uint64)
    stream.fill(words)
    return (words.view(np.uint32)[:count] >> np.uint32(32 - _FINER)).astype(np.int64)


def _up_or_down(fine: Integers, stream: Source) -> Integers:
    """Round each number of 2^-20 steps up or down, so that its mean is the number."""
    fine += _bits(fine.size, stream).reshape(fine.shape)
    fine >>= _FINER
    return fine


def _within(fine: Integers, steps: int, stream: Source) -> Integers:
    """Round magnitudes together: a random offset of their running sums, rounded down.

    Each mean is the number, and the sum of magnitudes is at most ``steps``.
    """
    sums = np.minimum(np.cumsum(np.abs(fine), axis=1), steps * _FINE)
    offset = _bits(fine.shape[0], stream)[:, np.newaxis]
    whole = (sums + offset) >> _FINER
    return np.asarray(np.diff(whole, axis=1, prepend=0) * np.sign(fine))
