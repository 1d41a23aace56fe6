"""What every mechanism is: a budget, releases of counts, a deviation, and a description.

A mechanism is whole in its own file. It enters the registry by being defined, and other code asks
it, instead of asking which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import takewhile
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check, _instead
from .._threads import checked_workers, on_threads
from ..curves.cdf import check_knots
from ..errors import DtypeError, ParameterError
from ..noise.sources import Source, source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours, Privacy, Relation, of_public_size, with_rho
from ..privacy.losses import Losses, ShiftedNoise
from ..privacy.spending import spending, unwatched
from ..summaries.grid import MOST_CELLS

__all__ = [
    "MOST_RECORDS",
    "Mechanism",
    "Work",
    "cell_counts",
    "check_mechanism",
    "checked_size",
    "names",
    "registered",
]

MOST_RECORDS: Final = 2**46  # sums in fine units fit 64 bits; larger sums would wrap around
_BLOCK_DRAWS: Final = 2**16  # threads get replicates in blocks of about this many draws
_DRAWN_BY: Final = {"_fill", "_prepared", "privacy", "release", "release_with_deviation"}
_OF_BUDGETS: Final = ("epsilon", "rho", "neighbours", "delta")  # fields that state the allowance
_registry: Final[dict[str, type[Mechanism]]] = {}


class Work(NamedTuple):
    """How releases of some counts are made.

    Parameters
    ----------
    fill
        A function that overwrites an array (rows, N) with independent releases, given a noise
        stream.
    draws
        About how many noise variates a release takes. The blocks, and so the results, depend on it.
    dtype
        The type of the releases.
    fill_rows
        A function that overwrites an array (rows, N), given the counts of each row, (rows, N), and
        a noise stream. If the rows are equal, it writes what ``fill`` does. None if there is no
        way but one row after the other.
    """

    fill: Callable[[NDArray[Any], Source], None]
    draws: int
    dtype: type[np.int64] | type[np.float64]
    fill_rows: Callable[[NDArray[np.int64], NDArray[Any], Source], None] | None = None


class Released(NamedTuple):
    """A release, and what is known of its error.

    Parameters
    ----------
    counts
        (N,) the noisy cumulative counts.
    deviation
        (N,) the standard deviations of their errors.
    knots
        (K,) the thresholds, as indices from 0 in ascending order up to N - 1, whose errors are
        noise alone. Between two of them the counts are on a straight line, and the deviation is an
        estimate of the noise and of what the line misses. None: all thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.mechanisms import Dawa
    >>> counts, rng = np.repeat([1, 900, 1], [24, 1, 39]), np.random.default_rng(1)
    >>> released = Dawa(epsilon=0.1).release_with_deviation(counts, rng=rng)
    >>> released.knots
    array([ 7, 15, 23, 24, 25, 26, 27, 28, 29, 30, 31, 39, 47, 55, 63])
    """

    counts: NDArray[Any]
    deviation: NDArray[np.float64]
    knots: NDArray[np.int64] | None = None


class Mechanism(ABC):
    """A way to release cumulative counts over a grid of N cells; the base of all mechanisms.

    A subclass is a frozen dataclass with a ``name``. It defines ``_fill``, which draws, and
    ``noise_deviation``. Everything else is there: the guarantee follows from the fields epsilon,
    rho, delta and neighbours, ``release`` checks and charges, and a description makes the mechanism
    again (docs/guides/extending.md).

    If ``privacy.neighbours`` is "replace-one", the number of records n is public, and the last
    cumulative count is n. Otherwise the last count has noise, too.

    Attributes
    ----------
    name
        The name in descriptions. A class that states one is in the registry.
    one_row_only
        Whether the mechanism assumes that neighbouring cells hold neighbouring values. Then it is
        not for tables, nor for the scores of two classes.
    is_additive
        Whether a release is the exact counts plus noise whose law does not depend on them.
    loses_records
        Whether a release loses detail besides noise, and ``release_with_deviation`` says how much.
    simulates_only
        Whether it is the law of releases that others make. Then it draws for studies alone.

    Examples
    --------
    >>> import dpcore as dp
    >>> mechanism = dp.mechanisms.Hierarchy(epsilon=1.0)
    >>> isinstance(mechanism, dp.mechanisms.Mechanism)
    True
    >>> mechanism.noise_deviation(4).round(2)
    array([2.42, 2.8 , 2.42, 0.  ])
    """

    __slots__ = ()

    name: ClassVar[str]
    one_row_only: ClassVar[bool] = False
    is_additive: ClassVar[bool] = False
    loses_records: ClassVar[bool] = False
    simulates_only: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = cls.__dict__.get("name")
        if isinstance(name, str):
            known = _registry.get(name)  # a dataclass with slots is defined twice
            if known is not None and _place(known) != _place(cls):
                raise ParameterError("name", name, f"is the name of {known.__qualname__}")
            _registry[name] = cls

    @abstractmethod
    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,).

        It is infinite where the error depends on the records in a way that is not known.

        Examples
        --------
        >>> import dpcore as dp
        >>> dp.mechanisms.Dyadic(epsilon=1.0).noise_deviation(4).round(2)
        array([4.85, 4.85, 4.85, 0.  ])
        """

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one release with cryptographic noise."""
        return _guarantee(self._budget())

    def privacy_for(self, size: int) -> Privacy:
        """Return the guarantee of one release of N cells: ``privacy``, and the rho of its noise.

        Releases state and charge it. The rho is far below epsilon^2 / 2 if many counts have noise.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy
        >>> privacy = Hierarchy(epsilon=1.0).privacy_for(1024)
        >>> privacy.epsilon, round(privacy.rho, 3)
        (1.0, 0.085)
        """
        cells = _check.integer("size", size, 1, MOST_CELLS)
        return with_rho(self.privacy, self._rho(cells) if _draws_as(type(self), "_rho") else None)

    def losses_for(self, size: int) -> Losses:
        """Return what ``privacy.composed`` needs to know of one release of N cells.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy
        >>> from dpcore.privacy import composed
        >>> tree = Hierarchy(epsilon=1.0)
        >>> round(composed(10 * [tree.losses_for(1024)], 1e-6).epsilon, 1)
        6.3
        """
        privacy, is_known = self.privacy_for(size), _draws_as(type(self), "_noise_shifts")
        return Losses(privacy, self._noise_shifts(size) if is_known else None)

    def _rho(self, size: int) -> Fraction | None:
        """Return the rho of the noise on N cells, from its laws; None if nothing more is known."""
        return None

    def _noise_shifts(self, size: int) -> tuple[ShiftedNoise, ...] | None:
        """Return the draws that a neighbour shifts, from their laws; None if they are not known."""
        return None

    def mean_squared_error(self, size: int) -> float:
        """Return the mean squared error of a cumulative count over the N thresholds, in counts^2.

        It is a closed form. The mean includes the last threshold, whose error is 0 if n is public.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy, Histogram
        >>> round(Histogram(epsilon=1.0).mean_squared_error(1024), 1)
        1337.2
        >>> round(Hierarchy(epsilon=1.0).mean_squared_error(1024), 1)
        314.4
        """
        return float(np.mean(np.asarray(self.noise_deviation(size), np.float64) ** 2))

    def least_mean_squared_error(self, size: int) -> float:
        """Return a lower bound of ``mean_squared_error``, in counts^2, that is quick to compute.

        The choice of a default passes over a mechanism whose bound is too high. It is 0 unless the
        mechanism knows more.

        Examples
        --------
        >>> from dpcore.mechanisms import Dyadic, Histogram
        >>> Histogram(epsilon=1.0).least_mean_squared_error(1024)
        0.0
        >>> tree = Dyadic(epsilon=1.0)
        >>> round(tree.least_mean_squared_error(1024)), round(tree.mean_squared_error(1024))
        (1778, 2196)
        """
        _check.integer("size", size, 1, MOST_CELLS)
        return 0.0

    def release(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
        workers: int | None = None,
    ) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return cumulative counts with noise.

        Parameters
        ----------
        counts
            (N,) integers, the exact counts of the cells, from ``Grid.count``; or (B, N), a row for
            each of B histograms.
        rng
            None for a release: noise from a cryptographic source. A generator is for studies. The
            noise comes from its children, so results do not depend on the number of threads.
        replicates
            None for one release, or the number of independent releases. Each spends the budget, and
            so does each row of counts. They are not given together.
        workers
            The number of threads for replicates; None for all processors.

        Returns
        -------
        numpy.ndarray
            (N,), (B, N) or (replicates, N): int64 from ``Dyadic`` with Laplace noise, float64
            otherwise. Under replace-one the last entry is n.

        Raises
        ------
        DtypeError, ParameterError
            counts is not a non-empty array of integers that are 0 or more, their public sum is
            above 2^46, or another argument is not as above.

        Notes
        -----
        Rows and replicates are made in blocks of a fixed number R, and block k takes child k of the
        generator. So a loop over R rows at a time with the same generator has the bits of one call.
        With trees, B equal rows have the bits of B replicates of one.

        Each replicate takes O(N) draws and memory, and O(N) additions. ``ToeplitzGaussian`` takes
        O(N log N) operations. ``Dawa`` takes O(N) for each of some fifty partitions that it tries.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.mechanisms import Dyadic
        >>> counts = np.array([40, 30, 20, 10])
        >>> mechanism, rng = Dyadic(epsilon=1.0), np.random.default_rng(1)
        >>> mechanism.release(counts, rng=rng)
        array([ 32,  70,  95, 100])
        >>> mechanism.release(counts, rng=rng, replicates=2)
        array([[ 43,  69,  91, 100],
               [ 33,  66,  87, 100]])
        """
        if self.simulates_only and rng is None:
            raise ParameterError("rng", None, "must be a generator: this law is for simulations")
        exact = self._checked_rows(counts)
        is_batch = np.ndim(counts) == 2
        if is_batch and replicates is not None:
            raise ParameterError("replicates", replicates, "must be None for rows of counts")
        repeat = 1 if replicates is None else _check.integer("replicates", replicates, 1, 2**40)
        threads = checked_workers(workers)
        stream, work = source(rng), self._prepared(exact[0])
        if exact.shape[0] > 1:
            self.noise_deviation(exact.shape[1])  # refuses a budget too small for any row

        def cost() -> Privacy:
            releases = max(repeat, len(exact))
            return releases * replace(self.privacy_for(exact.shape[1]), simulated=rng is not None)

        with spending(cost, f"{type(self).__name__}.release"):
            out = self._released(exact, max(repeat, exact.shape[0]), work, stream, threads)
        return out if is_batch or replicates is not None else out[0]

    def _released(
        self, exact: NDArray[np.int64], size: int, work: Work, stream: Source, threads: int
    ) -> NDArray[Any]:
        """Return so many releases of one row of counts, or one of each row, (size, N)."""
        out: NDArray[Any] = np.empty((size, exact.shape[1]), work.dtype)
        rows = max(1, _BLOCK_DRAWS // max(1, work.draws))
        starts = range(0, size, rows)

        def fill(block: tuple[int, Source]) -> None:
            part = slice(block[0], block[0] + rows)
            if exact.shape[0] == 1:
                work.fill(out[part], block[1])
            elif work.fill_rows is not None:
                work.fill_rows(exact[part], out[part], block[1])
            else:
                for own, row in zip(exact[part], out[part], strict=True):
                    self._prepared(own).fill(row[np.newaxis], block[1])

        on_threads(fill, list(zip(starts, stream.spawn(len(starts)), strict=True)), threads)
        return out

    def release_rows(
        self, counts: NDArray[np.integer[Any]], *, rng: np.random.Generator | None = None
    ) -> tuple[NDArray[Any], NDArray[np.float64], tuple[NDArray[np.int64] | None, ...]]:
        """Return what ``release_with_deviation`` does for each row of (B, N) counts.

        Returns
        -------
        counts
            (B, N).
        deviation
            (B, N), or (1, N) where it is the same for all rows.
        knots
            B of them, or one if there is one row of deviations.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.mechanisms import Dyadic
        >>> counts, rng = np.array([[40, 30, 20, 10], [4, 3, 2, 1]]), np.random.default_rng(1)
        >>> released, deviation, _ = Dyadic(epsilon=1.0).release_rows(counts, rng=rng)
        >>> released.shape, deviation.round(2)
        ((2, 4), array([[4.85, 4.85, 4.85, 0.  ]]))
        """
        own, exact = type(self), self._checked_rows(counts)
        if own.release_with_deviation is not Mechanism.release_with_deviation:
            self.noise_deviation(exact.shape[1])  # refuses a budget too small for any row
            own_cost = replace(self.privacy_for(exact.shape[1]), simulated=rng is not None)
            cost = len(exact) * own_cost
            with spending(cost, f"{own.__name__}.release_rows"):  # of all rows, or of none
                each = [self.release_with_deviation(row, rng=rng) for row in exact]
            released, deviations, knots = zip(*each, strict=True)
            return np.stack(released), np.stack(deviations), knots
        rows = self.release(exact, rng=rng)
        if own.estimated_deviation is Mechanism.estimated_deviation:
            return rows, self.estimated_deviation(rows[0])[np.newaxis], (None,)
        of_rows = np.stack([self.estimated_deviation(row) for row in rows])
        return rows, of_rows, (None,) * len(rows)

    def estimated_deviation(self, released: NDArray[Any]) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each count of a release, (N,).

        This is ``noise_deviation``, which holds for all records, unless the mechanism knows more
        from the release.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.mechanisms import Dyadic
        >>> mechanism = Dyadic(epsilon=1.0)
        >>> mechanism.estimated_deviation(mechanism.release(np.array([40, 30, 20, 10]))).round(2)
        array([4.85, 4.85, 4.85, 0.  ])
        """
        size = _check.array("released", released, "iuf").size
        return np.asarray(self.noise_deviation(size), np.float64)

    def release_with_deviation(
        self, counts: NDArray[np.integer[Any]], *, rng: np.random.Generator | None = None
    ) -> Released:
        """Return a release, and the standard deviation of the error in its counts, both (N,).

        A mechanism that finds out its error during the release says here how large it is, and where
        the error is more than noise.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.mechanisms import Dyadic
        >>> counts, rng = np.array([40, 30, 20, 10]), np.random.default_rng(1)
        >>> released, deviation, _ = Dyadic(epsilon=1.0).release_with_deviation(counts, rng=rng)
        >>> released, deviation.round(2)
        (array([ 32,  70,  95, 100]), array([4.85, 4.85, 4.85, 0.  ]))
        """
        released = self.release(counts, rng=rng)
        return Released(released, self.estimated_deviation(released))

    def simulated_noise(
        self,
        size: int,
        replicates: int,
        rng: np.random.Generator,
        *,
        knots: NDArray[np.int64] | None = None,
        n: int | None = None,
    ) -> NDArray[np.float64]:
        """Return noise as in releases, for studies and for bands: no record contributes.

        Parameters
        ----------
        size, replicates
            N cells, and R independent draws.
        rng
            A generator.
        knots, n
            Of the release, where the law of the noise depends on them: see ``Released``.

        Returns
        -------
        numpy.ndarray
            (R, K): the noise of the cumulative counts at the knots; (R, N) without knots.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the errors of this mechanism are not noise alone.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.mechanisms import Histogram
        >>> noise = Histogram(epsilon=1.0).simulated_noise(4, 1000, np.random.default_rng(1))
        >>> noise.std(axis=0).round(1)
        array([2.4, 2.7, 2.3, 0. ])
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        replicates = _check.integer("replicates", replicates, 1, 2**40)
        if knots is not None:
            check_knots(knots, size)
        if n is not None:
            n = _check.integer("n", n, 0, 2**63 - 1)
        return self._noise(size, replicates, rng, knots, n)

    def _noise(
        self,
        size: int,
        replicates: int,
        rng: np.random.Generator,
        knots: NDArray[np.int64] | None,
        n: int | None,
    ) -> NDArray[np.float64]:
        """Return the noise of checked ``simulated_noise``: here, that of releasing no records."""
        if not self.is_additive:
            what = "must add noise whose law does not depend on the records"
            raise ParameterError("mechanism", type(self).__name__, what)
        nothing = np.zeros(size, np.int64)
        with unwatched():
            noise = self.release(nothing, rng=rng, replicates=replicates).astype(np.float64)
        return noise if knots is None else np.asarray(noise[:, knots])

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> import dpcore as dp
        >>> dp.mechanisms.Hierarchy(epsilon=0.5, branching=4).describe()
        {'name': 'hierarchy', 'epsilon': 0.5, 'branching': '4', 'budgets': 'auto'}
        >>> dp.mechanisms.Histogram(rho=0.5).describe()
        {'name': 'histogram', 'rho': 0.5}
        """
        name = getattr(self, "name", None)
        if not isinstance(name, str):
            raise DtypeError("mechanism", type(self).__name__, "must state a name")
        return {
            "name": name,
            **self._budget().describe(),
            **{of: _plain(getattr(self, of)) for of in _parameters(type(self))},
        }

    @classmethod
    def from_description(cls, description: Mapping[str, Any], relation: Relation) -> Self:
        """Return the mechanism with a description, whose releases protect a relation.

        Raises
        ------
        TypeError, ValueError, DpcoreError
            The description is of another version.

        Examples
        --------
        >>> from dpcore.mechanisms import Dyadic
        >>> Dyadic.from_description({"epsilon": 0.5, "base": 3}, "replace-one").noise_scale(9)
        Fraction(8, 1)
        """
        parameters = {name: value for name, value in description.items() if name != "name"}
        if "neighbours" in _names(cls):  # within a group, it is a release of the group
            public = of_public_size(relation)
            parameters["neighbours"] = "replace-one" if public else relation
        return cls(**parameters)

    def _budget(self) -> Allowance:
        """Return the allowance of one release, as the fields state it."""
        own = _names(type(self))
        if not own and not is_dataclass(self):
            what = "must be a dataclass, whose fields are the parameters"
            raise ParameterError("mechanism", type(self).__name__, what)
        stated: list[Any] = [getattr(self, name) if name in own else None for name in _OF_BUDGETS]
        if "neighbours" not in own:
            stated[2] = "replace-one"
        try:
            return _allowance(*stated)
        except TypeError:  # it cannot be a key, or is refused
            return Allowance.checked(*stated)

    def _fill(  # noqa: B027 (a mechanism with its own ``_prepared`` needs none)
        self, counts: NDArray[np.int64], out: NDArray[np.float64], stream: Source
    ) -> None:
        """Overwrite ``out``, (rows, N), with independent releases of the counts of N cells, (N,).

        ``release`` calls this, with checked counts, after it has charged the budgets. All noise
        comes from ``stream``, by ``fill`` of a law of ``dpcore.noise``. If n is public, ``release``
        writes the last count.
        """

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        """Return the work of releasing the counts of N cells, (N,)."""
        if type(self)._fill is Mechanism._fill:
            raise DtypeError("mechanism", type(self).__name__, "must define _fill")
        self.noise_deviation(exact.size)  # refuses a budget too small for these cells
        exact.flags.writeable = False  # several blocks of releases read it
        total = int(exact.sum()) if of_public_size(self.privacy.neighbours) else None
        return Work(partial(_filled, self, exact, total), exact.size, np.float64)

    def _checked(self, counts: object) -> NDArray[np.int64]:
        """Return the counts of the cells, (N,), checked."""
        exact = cell_counts(counts)
        self._check_total(int(exact.sum()), exact.size)
        return exact

    def _checked_rows(self, counts: object) -> NDArray[np.int64]:
        """Return the counts of the cells of each row, (B, N), checked; (1, N) for a single row."""
        exact = rows_of_counts(counts)
        for total in set(exact.sum(axis=1).tolist()):
            self._check_total(total, exact.shape[1])
        return exact

    def _check_total(self, total: int, size: int) -> None:
        """Refuse a public number of records in so many cells; to be called before a charge."""
        if total > MOST_RECORDS and self.privacy.neighbours != "add-or-remove-one":
            raise ParameterError("counts", total, f"must sum to at most {MOST_RECORDS}")


def registered(name: str) -> type[Mechanism] | None:
    """Return the class with this name, or None."""
    return _registry.get(name) or _all_named().get(name)


def names() -> tuple[str, ...]:
    """Return the names of all mechanisms for releases that are defined, in alphabetical order."""
    return tuple(sorted(name for name, cls in _all_named().items() if not cls.simulates_only))


def checked_size(argument: str, n: int) -> int:
    """Return a public number of records; refuse 0, and what is too large for sums in fine units."""
    if not 1 <= n <= MOST_RECORDS:
        raise ParameterError(argument, n, f"must hold between 1 and {MOST_RECORDS} records")
    return n


def check_mechanism(argument: str, value: object, kind: type = Mechanism) -> None:
    """Refuse a value that is not a mechanism of this kind, or is its class; say what to write."""
    if isinstance(value, kind) and not isinstance(value, type):
        if isinstance(value, Mechanism) and value.simulates_only:
            raise ParameterError(argument, value.name, "must be for releases")
        return
    own = sorted(
        made.__name__
        for made in _registry.values()
        if made.__module__.startswith("dpcore.mechanisms.") and not made.simulates_only
    )
    what = _instead.mechanism(value, "mechanism" if kind is Mechanism else kind.__name__, own)
    given = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
    raise DtypeError(argument, given, what)


def rows_of_counts(counts: object) -> NDArray[np.int64]:
    """Return the counts of the cells of a grid, (B, N), checked; (1, N) for a single row."""
    array = _check.counts("counts", counts)
    if array.ndim not in (1, 2) or not 1 <= array.shape[-1] <= MOST_CELLS or array.size == 0:
        what = f"must be one-dimensional, or rows, with 1 to {MOST_CELLS} cells"
        raise ParameterError("counts", array.shape, what)
    return array.reshape(-1, array.shape[-1])


def cell_counts(counts: object) -> NDArray[np.int64]:
    """Return the counts of the cells of a grid, (N,), checked."""
    array = _check.counts("counts", counts)
    if array.ndim != 1 or not 1 <= array.size <= MOST_CELLS:
        raise ParameterError(
            "counts", array.shape, f"must be one-dimensional, with 1 to {MOST_CELLS} cells"
        )
    return array


def _filled(
    mechanism: Mechanism,
    exact: NDArray[np.int64],
    total: int | None,
    out: NDArray[np.float64],
    stream: Source,
) -> None:
    out.fill(np.nan)  # what is not overwritten is no memory of records, and is found
    mechanism._fill(exact, out, stream)
    if total is not None:
        out[:, -1] = total


@cache
def _draws_as(cls: type[Mechanism], name: str) -> bool:
    """Return whether no subclass of the class whose method is taken draws in another way."""
    below = takewhile(lambda one: name not in vars(one), cls.__mro__)
    return not any(_DRAWN_BY & vars(one).keys() for one in below)


def _all_named() -> dict[str, type[Mechanism]]:
    """Return the registry, with classes that got their names late, as in workers of a study."""
    classes: list[Any] = [Mechanism]
    for cls in classes:
        classes += cls.__subclasses__()
        if isinstance(name := cls.__dict__.get("name"), str):
            _registry.setdefault(name, cls)
    return _registry


def _place(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


@lru_cache(maxsize=1024, typed=True)
def _allowance(epsilon: object, rho: object, neighbours: Neighbours, delta: object) -> Allowance:
    """Return the allowance, cached, because a mechanism asks for it again and again."""
    return Allowance.checked(epsilon, rho, neighbours, delta)


@lru_cache(maxsize=1024)
def _guarantee(allowance: Allowance) -> Privacy:
    """Return the guarantee of an allowance, cached for the same reason."""
    return allowance.privacy


@cache
def _names(cls: type[Mechanism]) -> frozenset[str]:
    """Return the names of a mechanism's fields."""
    own: tuple[Field[Any], ...] = fields(cls) if is_dataclass(cls) else ()
    return frozenset(member.name for member in own)


@cache
def _parameters(cls: type[Mechanism]) -> tuple[str, ...]:
    """Return the names of the fields, in order, that are no part of the budget."""
    own: tuple[Field[Any], ...] = fields(cls) if is_dataclass(cls) else ()
    return tuple(member.name for member in own if member.name not in _OF_BUDGETS)


def _plain(value: Any) -> str | int | float:
    """Return a parameter as a release records it."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, float | Fraction):
        return float(value)
    return ",".join(f"{number:g}" for number in value)
