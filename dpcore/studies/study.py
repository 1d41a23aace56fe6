"""Studies: a function of parameters and a generator, and the values of these parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from .. import _check
from ..errors import DtypeError, ParameterError, amount
from .cells import TAKEN, Cell, Label, Values, cells_of, key_of, label_of, values_of, written
from .digest import digest

__all__ = ["MOST_SEED", "Study", "study"]

# Four words: two different pairs of seed and cell never have the same words.
MOST_SEED: Final = 2**128 - 1
_MOST_CALL: Final = 2**53
Parameters = Mapping[str, Any]
_COLUMNS = (  # columns of the tables that contain a parameter
    *TAKEN,
    *("quantity", "position", "replicates", "undefined"),
    *("mean", "mean_low", "mean_high", "deviation"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """A Monte Carlo study, which calls a function many times for each combination of parameters.

    Usually made with the decorator ``studies.study``.

    Parameters
    ----------
    function
        Takes the parameters and ``rng``, a ``numpy.random.Generator``, all by keyword. Returns
        a mapping of names to numbers, or to arrays of one dimension. An array has the same length
        in all replicates of a cell. Numbers are stored as doubles, and may be NaN. The function
        must draw from ``rng`` alone, and must not change its arguments.
    parameters
        The values of each parameter. All combinations of values are cells. A single value need
        not be in a list. Tables show labels for values that are neither numbers nor strings: the
        names of functions and classes, or the keys if the values are given as a dict of
        label: value. A list of such mappings gives the cells of each, one after the other.
    batch
        None: each call makes one replicate. An integer: each call makes so many. The function then
        also gets this number as ``replicates``, and returns arrays whose first axis has this
        length. Batches suit mechanisms with a replicate axis, which loop in compiled code.

    Raises
    ------
    DtypeError, ParameterError
        The function does not take these parameters, or the parameters are not as above.

    Examples
    --------
    >>> from dpcore import studies
    >>> @studies.study({"n": [100, 400]})
    ... def mean(n, rng):
    ...     return {"error": abs(rng.normal(size=n).mean())}
    >>> len(mean.cells)
    2
    >>> results = studies.run(mean, replicates=50, seed=1)
    >>> errors = results.array("error")  # cells along the first axis, then replicates
    >>> errors.shape, errors.mean(axis=1).round(2)
    ((2, 50), array([0.07, 0.04]))
    """

    function: Callable[..., Mapping[str, Any]]
    parameters: Parameters | Sequence[Parameters]
    batch: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.function) or isinstance(self.function, type | Study):
            raise DtypeError("function", type(self.function).__name__, "must be a function")
        if self.batch is not None:
            _check.integer("batch", self.batch, 1, 2**31 - 1)
        taken = dict.fromkeys(("rng",) if self.batch is None else ("rng", "replicates"))
        for block in self.blocks:
            _check_call(self.function, {**block, **taken})
        for name in dict.fromkeys(name for block in self.blocks for name in block):
            _check_labels(name, [label for block in self.blocks for label in block.get(name, ())])
            if any(None in block.get(name, ()) for block in self.blocks) and not all(
                name in block for block in self.blocks
            ):
                what = "must have another label, because tables show None where there is no value"
                raise ParameterError(f"parameters[{name!r}]", None, what)
        repeated = len(self.cells) - len({cell.key for cell in self.cells})
        if repeated:
            raise ParameterError("parameters", repeated, "must not have the same cell twice")

    @property
    def name(self) -> str:
        """The function's name."""
        function = self.function
        while isinstance(function, functools.partial):
            function = function.func
        return str(getattr(function, "__name__", type(function).__name__))

    @functools.cached_property
    def blocks(self) -> tuple[Mapping[str, Values], ...]:
        """The values of each parameter by label; one mapping for each item of ``parameters``."""
        given = self.parameters
        if isinstance(given, Mapping):
            given = [given]
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise DtypeError("parameters", type(given).__name__, "must be a mapping, or a list")
        if not given:
            raise ParameterError("parameters", given, "must not be an empty list")
        return tuple(_block(mapping) for mapping in given)

    @functools.cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All combinations of the parameters. The last parameter changes fastest."""
        return tuple(cells_of(self.blocks))

    @functools.cached_property
    def by_key(self) -> Mapping[str, Cell]:
        """The cells by their keys."""
        return {cell.key: cell for cell in self.cells}

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters."""
        return tuple(dict.fromkeys(name for block in self.blocks for name in block))

    @property
    def size(self) -> int:
        """The number of replicates of one call."""
        return self.batch or 1

    @property
    def digest(self) -> str:
        """A name for the code of the function and of everything that it calls outside packages."""
        return self.code["code"]

    @functools.cached_property
    def code(self) -> Mapping[str, str]:
        """The digests of the function and of all values with labels, and the packages used."""
        code, used = digest(self.function)
        digests, packages = {"code": code}, set(used)
        labelled = {
            f"{name}={label!r}": value
            for block in self.blocks
            for name, values in block.items()
            for label, value in values.items()
            if not (isinstance(value, Label | np.generic) and value == label)
        }
        for name, value in sorted(labelled.items()):
            digests[name], used = digest(value)
            packages |= used
        return digests | {"packages": " ".join(sorted(packages))}

    def over(self, /, **parameters: Any) -> Study:
        """Return this study with other values for some of its parameters.

        Raises
        ------
        ParameterError
            The study has no such parameter.

        Examples
        --------
        >>> from dpcore import studies
        >>> @studies.study({"n": [100, 400], "scale": [1.0]})
        ... def mean(n, scale, rng):
        ...     return {"error": abs(rng.normal(scale=scale, size=n).mean())}
        >>> mean.over(scale=[0.5, 1.0, 2.0])
        Study(mean, 6 cells)
        """
        for name in parameters:
            if name not in self.names:
                raise ParameterError("parameters", name, f"must be among {list(self.names)}")
        changed = [
            {**block, **{name: parameters[name] for name in block if name in parameters}}
            for block in self.blocks
        ]
        return replace(self, parameters=changed[0] if len(changed) == 1 else changed)

    def rng(self, cell: Cell, call: int, seed: int) -> np.random.Generator:
        """Return the generator of one call: the child of ``seed`` for the cell's key and the call.

        Raises
        ------
        DtypeError, ParameterError
            It is no cell of a study, or a number is out of range.

        Examples
        --------
        >>> from dpcore import studies
        >>> @studies.study({"n": [100, 400]})
        ... def mean(n, rng):
        ...     return {"error": abs(rng.normal(size=n).mean())}
        >>> [mean.rng(cell, 0, seed=1).integers(100, size=3).tolist() for cell in mean.cells]
        [[16, 29, 82], [19, 34, 13]]
        """
        _check.instance("cell", cell, Cell, "must be a cell of a study")
        call = _check.integer("call", call, 0, _MOST_CALL)
        seed = _check.integer("seed", seed, 0, MOST_SEED)
        child = np.random.SeedSequence(seed, spawn_key=(int(cell.key, 16), call))
        return np.random.default_rng(child)

    def call(self, cell: Cell, call: int, seed: int) -> Mapping[str, Any]:
        """Call the function as the runner does, for one replicate or one batch.

        Raises
        ------
        DtypeError, ParameterError
            As for ``rng``.

        Examples
        --------
        >>> from dpcore import studies
        >>> @studies.study({"n": [100, 400]})
        ... def mean(n, rng):
        ...     return {"error": round(abs(rng.normal(size=n).mean()), 3)}
        >>> [mean.call(cell, 0, seed=1)["error"].item() for cell in mean.cells]
        [0.11, 0.061]
        """
        rng = self.rng(cell, call, seed)
        if self.batch is None:
            return self.function(**cell.values, rng=rng)
        return self.function(**cell.values, rng=rng, replicates=self.batch)

    def replay(self, call: int, seed: int, /, **labels: Any) -> Mapping[str, Any]:
        """Repeat one call of a run in this process, for example under a debugger.

        Parameters
        ----------
        call
            The number of the call, which is the number of the replicate. With batches, it is
            replicate // batch.
        seed
            The seed of the run, ``Results.seed``.
        **labels
            The parameters of its cell, by their labels in tables.

        Returns
        -------
        Mapping
            The result of the function.

        Raises
        ------
        ParameterError
            There is no such cell, or a number is out of range.

        Examples
        --------
        >>> from dpcore import studies
        >>> @studies.study({"n": [100, 400]})
        ... def mean(n, rng):
        ...     return {"error": abs(rng.normal(size=n).mean())}
        >>> results = studies.run(mean, replicates=5, seed=1)
        >>> results.array("error", n=400).round(3)
        array([0.061, 0.025, 0.   , 0.053, 0.063])
        >>> mean.replay(3, 1, n=400)["error"].round(3).item()
        0.053
        """
        asked = {name: label_of(name, label) for name, label in labels.items()}
        cell = self.by_key.get(key_of(asked))
        if cell is None:
            raise ParameterError("labels", asked, f"must be a cell's, such as {self.cells[0]}")
        return self.call(cell, call, seed)

    def __call__(self, *args: Any, **kwargs: Any) -> Mapping[str, Any]:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return Study, (self.function, list(self.blocks), self.batch)

    def __repr__(self) -> str:
        batched = "" if self.batch is None else f", {self.batch} at a time"
        return f"Study({self.name}, {amount(len(self.cells), 'cell')}{batched})"


def study(
    parameters: Parameters | Sequence[Parameters], *, batch: int | None = None
) -> Callable[[Callable[..., Mapping[str, Any]]], Study]:
    """Return a decorator that turns a function into a ``Study``.

    Parameters
    ----------
    parameters, batch
        As for ``Study``.

    Returns
    -------
    Callable
        Takes the function and returns the study, which can be called like the function.

    Examples
    --------
    >>> from dpcore import studies
    >>> @studies.study({"p": [0.1, 0.5]})
    ... def coin(p, rng):
    ...     return {"head": rng.random() < p}
    >>> coin
    Study(coin, 2 cells)
    """
    return lambda function: Study(function, parameters, batch)


def _check_labels(name: str, labels: Sequence[Label]) -> None:
    """Check that tables tell the labels of a parameter apart."""
    different = list({(type(label), label): label for label in labels}.values())
    if len(set(written(different))) < len(different):
        what = "must have labels that are different in tables, also as text"
        raise ParameterError(f"parameters[{name!r}]", different, what)


def _block(given: object) -> Mapping[str, Values]:
    if not isinstance(given, Mapping):
        raise DtypeError("parameters", type(given).__name__, "must be a mapping, or a list of them")
    for name in given:
        if not isinstance(name, str) or not name.isidentifier():
            raise ParameterError("parameters", name, "must have names that a function can take")
        if name in ("rng", *_COLUMNS):
            raise ParameterError("parameters", name, "must not have this name, which is taken")
    return {name: values_of(name, values) for name, values in given.items()}


def _check_call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Check that a function accepts these arguments by keyword, and needs no others."""
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise ParameterError(
            "function", getattr(function, "__name__", function), f"must take {', '.join(arguments)}"
        ) from error
    except ValueError:  # built-in functions may have no signature
        return
