"""The results of a study: a tidy table of replicates, and its summary."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError, amount
from .cells import Label, label_of
from .header import Header, Maker, header_of
from .summary import QUANTILES, summary
from .tables import are_in_order, are_rows, by_cell, quantities_of, tidy

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Results"]


class Results:
    """The results of a study, made by ``studies.run`` and ``studies.load``.

    Parameters
    ----------
    table
        A table with one row for each replicate of each cell. Its columns are the parameters,
        ``replicate``, the quantities that the function returned, ``made_by`` (an index into
        ``makers``) and ``cell`` (a name for the cell). Rows in another order are sorted.

    Raises
    ------
    DtypeError
        It is no such table.

    Examples
    --------
    >>> from dpcore import studies
    >>> @studies.study({"n": [100, 400]})
    ... def mean(n, rng):
    ...     return {"error": abs(rng.normal(size=n).mean())}
    >>> results = studies.run(mean, replicates=200, seed=1)
    >>> summary = results.summary().to_pandas()
    >>> [float(mean) for mean in summary["mean"].round(3)]
    [0.08, 0.04]
    """

    def __init__(self, table: pyarrow.Table) -> None:
        pa = _check.extra("pyarrow", "dpcore.studies", "studies")
        is_table = isinstance(table, pa.Table) and Header.read(table.schema) is not None
        if not (is_table and are_rows(table)):
            raise DtypeError("table", type(table).__name__, "must be that of a study")
        self.table = table if are_in_order(table) else tidy([table])
        self._header = header_of(self.table)

    @property
    def study(self) -> str:
        """The name of the study."""
        return self._header.study

    @property
    def seed(self) -> int:
        """The entropy of all generators."""
        return self._header.seed

    @property
    def makers(self) -> list[Maker]:
        """The code (as a digest) and the versions that made the rows; usually one entry."""
        return self._header.makers

    @property
    def parameters(self) -> dict[str, list[Label]]:
        """The labels of each parameter, in order."""
        by_name: dict[str, dict[Label, None]] = {}
        for labels in self._header.cells.values():
            for name, label in labels.items():
                by_name.setdefault(name, {})[label] = None
        return {name: list(known) for name, known in by_name.items()}

    @property
    def quantities(self) -> list[str]:
        """The names of the numbers and arrays that the function returned, sorted."""
        return quantities_of(self.table, self._header)

    def array(self, quantity: str, /, **selected: Any) -> NDArray[np.float64]:
        """Return a quantity as an array with one axis for each parameter, then the replicates.

        Parameters
        ----------
        quantity
            The name of the quantity.
        **selected
            Parameters to hold at one of their labels. They get no axis. The label of a function or
            a class is its name.

        Returns
        -------
        array of float64, shape (values of a parameter, ..., replicates)
            Each other parameter with more than one value has an axis, in the order of the study.
            If the function returned arrays, their axis is the last one.

        Raises
        ------
        ParameterError
            There is no such quantity, parameter or label; or the cells are not all combinations
            of the values; or their numbers of replicates or the lengths of their arrays differ.

        Examples
        --------
        >>> from dpcore import studies
        >>> @studies.study({"n": [100, 400], "scale": [1.0, 2.0]})
        ... def mean(n, scale, rng):
        ...     return {"error": abs(rng.normal(scale=scale, size=n).mean())}
        >>> results = studies.run(mean, replicates=200, seed=1)
        >>> errors = results.array("error")
        >>> errors.shape
        (2, 2, 200)
        >>> errors.mean(axis=-1).round(2)
        array([[0.08, 0.16],
               [0.04, 0.07]])
        >>> results.array("error", scale=2.0).mean(axis=-1).round(2)
        array([0.16, 0.07])
        """
        labels = self.parameters
        if not isinstance(quantity, str) or quantity not in self.quantities:
            raise ParameterError("quantity", quantity, f"must be one of {self.quantities}")
        for name, given in selected.items():
            label = selected[name] = label_of(name, given)
            if label not in labels.get(name, ()):
                known = labels.get(name) or f"a parameter, one of {list(labels)}"
                raise ParameterError(name, given, f"must be one of {known}")
        cells = {
            key: [cell.get(name) for name in labels]
            for key, cell in self._header.cells.items()
            if all(name in cell and cell[name] == label for name, label in selected.items())
        }
        replicates = {key: values for key, values in by_cell(self.table, quantity) if key in cells}
        columns = zip(*cells.values(), strict=True)
        axes = [{label: at for at, label in enumerate(dict.fromkeys(axis))} for axis in columns]
        shapes = {values.shape for values in replicates.values()}
        if len(replicates) < len(cells) or len(cells) != prod(map(len, axes)) or len(shapes) != 1:
            raise ParameterError(
                "quantity", quantity, "must be known for all combinations, equally often for each"
            )
        places = {tuple(map(dict.__getitem__, axes, cell)): key for key, cell in cells.items()}
        stacked = np.stack([replicates[places[place]] for place in sorted(places)])
        return stacked.reshape(*(len(axis) for axis in axes if len(axis) > 1), *shapes.pop())

    def summary(
        self, *, level: float = 0.95, quantiles: Sequence[float] = QUANTILES
    ) -> pyarrow.Table:
        """Return means, their intervals, and quantiles, in one row for each cell and quantity.

        Parameters
        ----------
        level
            The level of the intervals of means. They are Student's intervals, which are right for
            means of many replicates.
        quantiles
            The probabilities of the quantiles, in [0, 1]. 0 and 1 are the extremes. The columns
            are named ``q0.05`` and so on.

        Returns
        -------
        pyarrow.Table
            The columns are the parameters; ``quantity``; ``position``, if the function returned
            arrays; ``replicates``; ``undefined``, the number of replicates that are NaN or were
            not returned; ``mean``, ``mean_low``, ``mean_high``, ``deviation``, and the quantiles.
            Undefined replicates count in no other column.

        Examples
        --------
        >>> from dpcore import studies
        >>> @studies.study({"n": [100, 400]})
        ... def mean(n, rng):
        ...     return {"error": abs(rng.normal(size=n).mean())}
        >>> results = studies.run(mean, replicates=200, seed=1)
        >>> table = results.summary(quantiles=[0.5]).to_pandas()
        >>> table[["n", "replicates", "mean", "q0.5"]].round(3)
             n  replicates  mean   q0.5
        0  100         200  0.08  0.066
        1  400         200  0.04  0.036
        """
        return summary(self.table, self._header, self.quantities, level, quantiles)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table of replicates as a stream for readers of Arrow."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        cells, makers = len(self._header.cells), len(self.makers)
        mixed = "" if makers == 1 else f", made by {makers} states of code or versions"
        what = f"{amount(len(self), 'replicate')} of {amount(cells, 'cell')}"
        return f"Results({self.study}: {what}{mixed})"
