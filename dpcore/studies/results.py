"""The results of a study: a tidy table of replicates, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .cells import TAKEN, Label
from .summary import QUANTILES, summary
from .tables import Header, Maker, by_cell

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Results"]


class Results:
    """What a study found.

    Made by ``studies.run`` and ``studies.load``.

    Parameters
    ----------
    table
        A row for each replicate of each cell: the parameters, ``replicate``, what the function
        returned, ``made_by`` (which of ``makers`` made the row) and ``cell`` (names the cell).

    Examples
    --------
    >>> from dpcore import studies
    >>> @studies.study({"n": [100, 400]})
    ... def mean(n, rng):
    ...     return {"error": abs(rng.normal(size=n).mean())}
    >>> results = studies.run(mean, replicates=200, seed=1)
    >>> summary = results.summary().to_pandas()
    >>> [float(each) for each in summary["mean"].round(3)]
    [0.075, 0.038]
    """

    def __init__(self, table: pyarrow.Table) -> None:
        self.table = table
        header = Header.read(table.schema)
        if header is None:
            raise ParameterError("table", type(table).__name__, "must be that of a study")
        self._header = header

    @property
    def study(self) -> str:
        """The name of the study."""
        return self._header.study

    @property
    def seed(self) -> int:
        """The entropy from which all generators were spawned."""
        return self._header.seed

    @property
    def makers(self) -> list[Maker]:
        """What made the rows: the digest of the code and the versions; one, as a rule."""
        return self._header.makers

    @property
    def parameters(self) -> dict[str, list[Label]]:
        """The labels of each parameter, in order."""
        found: dict[str, list[Label]] = {}
        for labels in self._header.cells.values():
            for name, label in labels.items():
                known = found.setdefault(name, [])
                if label not in known:
                    known.append(label)
        return found

    @property
    def quantities(self) -> list[str]:
        """The names of what the function returned, sorted."""
        return [n for n in self.table.column_names if n not in {*self.parameters, *TAKEN}]

    def array(self, quantity: str, **selected: Label) -> NDArray[np.float64]:
        """Return a quantity as an array: a parameter an axis, then the replicates.

        Parameters
        ----------
        quantity
            Its name.
        **selected
            Parameters that are held at one of their labels, and get no axis.

        Returns
        -------
        array of float64, shape (values of a parameter, ..., replicates)
            The other parameters that have more than one value are the axes, in the order of the
            study. If the function returned arrays, their positions are a last axis.

        Raises
        ------
        ParameterError
            There is no such quantity, parameter or label; or the cells are not all combinations
            of the values, or have replicates or arrays of different number.
        """
        labels = self.parameters
        _check_among("quantity", quantity, self.quantities)
        for name, label in selected.items():
            _check_among("selected", name, list(labels))
            _check_among(name, label, labels[name])
        cells = {
            key: each
            for key, each in self._header.cells.items()
            if all(name in each and each[name] == label for name, label in selected.items())
        }
        axes = [list(dict.fromkeys(e.get(name) for e in cells.values())) for name in labels]
        found = dict(by_cell(self.table, quantity))
        shapes = {np.shape(found.get(key, ())) for key in cells}
        if len(cells) != np.prod([len(axis) for axis in axes]) or len(shapes) > 1:
            raise ParameterError(
                "quantity", quantity, "must be known of all combinations, as often of each"
            )
        places = {
            tuple(axis.index(e.get(name)) for name, axis in zip(labels, axes, strict=True)): key
            for key, e in cells.items()
        }
        stacked = [found[places[place]] for place in sorted(places)]
        return np.reshape(stacked, (*(len(a) for a in axes if len(a) > 1), *shapes.pop()))

    def summary(
        self, *, level: float = 0.95, quantiles: Sequence[float] = QUANTILES
    ) -> pyarrow.Table:
        """Return means, their intervals, and quantiles: a row for each cell and quantity.

        Parameters
        ----------
        level
            Of the intervals of means, which are Student's: right for means of many replicates.
        quantiles
            Which, in [0, 1]; they are columns, ``q0.05`` and so on.

        Returns
        -------
        pyarrow.Table
            The parameters; ``quantity``; ``position``, if the function returned arrays;
            ``replicates``, and how many of them are ``undefined`` (NaN, or not returned), which
            enter nothing else; ``mean``, ``mean_low``, ``mean_high``, ``deviation``, and the
            quantiles.
        """
        return summary(self.table, self._header, self.quantities, level, quantiles)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand out the table of replicates, to whatever reads Arrow."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        cells, makers = len(self._header.cells), len(self.makers)
        mixed = "" if makers == 1 else f", made by {makers} states of code or versions"
        return f"Results({self.study}: {len(self)} replicates of {cells} cells{mixed})"


def _check_among(argument: str, value: object, options: Sequence[object]) -> None:
    if value not in options:
        raise ParameterError(argument, value, f"must be one of {', '.join(map(repr, options))}")
