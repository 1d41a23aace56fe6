"""Columns: a container of records is looked at once, and what follows asks the column."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import DpcoreError, DtypeError, ParameterError
from .. import doubles, times
from ..doubles import Chunk

__all__ = ["Chunk", "Column", "Part"]

Result = TypeVar("Result")

_ONE_COLUMN: Final = 'must be one column, as frame["name"] is'
# Types of whole numbers and whole days, as NumPy, polars and Arrow name them.
_WHOLE: Final = re.compile(
    r"u?int\d+|bool(ean)?|date|date32\[day\]|date64\[ms\]|(datetime|timedelta)64\[\d*[DWMY]\]"
)
_FLOATS: Final = ("float", "longdouble", "double", "halffloat")  # how names of types begin
_INTEGERS: Final = ("int", "uint", "bool")


class Part(NamedTuple):
    """Some consecutive values of a column.

    Parameters
    ----------
    present
        The values that the container does not mark as missing. They may still include None and
        the like among objects, NaN among floats, and NaT among times.
    absent
        A mask of all values: which ones the container marks as missing; None if it marks none.
    in_utc
        Whether the values are times of a column with a time zone.
    is_typed
        Whether the container names their type, so that no value has chosen it.
    """

    present: NDArray[Any]
    absent: NDArray[np.bool_] | None
    in_utc: bool = False
    is_typed: bool = True


class Column(ABC):
    """A column of records, in a container of any library.

    ``Column.of`` makes it, once. To make it reads nothing and refuses nothing, so that errors come
    in the order of the work. A subclass knows the containers of one library, and enters the
    registry by being defined.

    Parameters
    ----------
    values
        The container.
    argument
        The name of the column in errors.

    Attributes
    ----------
    library
        The package of the containers.
    generality
        0 if the subclass knows a library; 1 if it knows a protocol, and 2 if it takes anything.
        Those that know more are asked first.

    Examples
    --------
    >>> import numpy as np
    >>> column = Column.of(np.array([1, 2**53 + 1]), "values")
    >>> column.schema, column.stated(None, by_grid=False), column.joined()
    ('int64', True, array([1.00000000e+00, 9.00719925e+15]))
    """

    __slots__ = ("argument", "values")

    library: ClassVar[str] = ""
    generality: ClassVar[int] = 0
    _known: ClassVar[list[type[Column]]] = []

    def __init__(self, values: Any, argument: str) -> None:
        self.values, self.argument = values, argument

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Column._known.append(cls)
        Column._known.sort(key=lambda kind: kind.generality)
        _kind_of.cache_clear()

    @staticmethod
    def of(values: Any, argument: str = "values") -> Column:
        """Return the column of a container; a column is returned as it is."""
        container: type = type(values)
        kind = _kind_of(container)
        return values if kind is None else kind.made(values, argument)

    @classmethod
    def made(cls, values: Any, argument: str) -> Column:
        """Return the column of a container that this class takes."""
        return cls(values, argument)

    @classmethod
    def takes(cls, container: type, libraries: frozenset[str]) -> bool:
        """Return whether this class is for containers of a type.

        Parameters
        ----------
        container
            The type of the container.
        libraries
            The packages of this type, and of those from which it inherits.
        """
        return cls.library in libraries

    @abstractmethod
    def _parts(self) -> Iterator[Part]:
        """Yield the values in order, or raise any error; ``parts`` hides what it says."""

    # What the type of the container states. Records have no part in it.

    @property
    def is_partitioned(self) -> bool:
        """Whether the records lie in partitions, which are counted where they are."""
        return False

    @property
    def is_lazy(self) -> bool:
        """Whether the records lie in an engine, which counts them (``records.queries``)."""
        return False

    @property
    def schema(self) -> str | None:
        """The name of the column's type; None if the values themselves may have chosen it."""
        return None

    @property
    def type_name(self) -> str:
        """The name of the column's type, whoever has chosen it; empty if there is none."""
        return self.schema or ""

    @property
    def text_type(self) -> type | None:
        """The type str or bytes, if the column's type says that it holds them; None otherwise."""
        return None

    @property
    def described(self) -> str:
        """The library and the type of the container, for errors."""
        cls = type(self.values)
        return f"a {str(cls.__module__).partition('.')[0]} {cls.__name__}"

    @property
    def name(self) -> str | None:
        """The name of the column, which is public; None if it has none."""
        return None

    @property
    def column_names(self) -> Sequence[str]:
        """The names of the columns of a table, which are public; none if it is no table."""
        return ()

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of a table; of one column, itself; none of what NumPy reads as an array."""
        return ()

    @property
    def index(self) -> Any:
        """The index of a column or a table of pandas; None of all others."""
        return None

    @property
    def categories(self) -> Sequence[str] | None:
        """The categories that are part of the column's type, in their order; None if none are."""
        return None

    @property
    def may_have_categories(self) -> bool:
        """Whether the column lists categories, perhaps those of its records."""
        return hasattr(getattr(self.values, "dtype", None), "categories")

    def stated(self, integers: bool | None, *, by_grid: bool) -> bool | None:
        """Return whether the records are whole numbers, or whole days on a grid of times.

        Parameters
        ----------
        integers
            What the caller says; None: nothing.
        by_grid
            Whether the grid says that records are whole. Then its statement is not repeated.

        Returns
        -------
        bool or None
            What the caller says. Otherwise True if the column has a typed schema of whole numbers
            or dates, and None in all other cases: types such as float64 hold whole numbers, too.

        Raises
        ------
        DtypeError
            ``integers`` is not None or a bool.

        Notes
        -----
        Types of elements are not asked for, because a single record would change the answer. The
        same holds for dtypes of pandas, which follow from the values: one missing value makes int64
        float64. O(1).

        Examples
        --------
        >>> import numpy as np
        >>> Column.of(np.array([1, 2])).stated(None, by_grid=False)
        True
        >>> print(Column.of([1, 2]).stated(None, by_grid=False))
        None
        """
        if integers is not None and not isinstance(integers, bool):
            raise DtypeError("integers", type(integers).__name__, "must be None or a bool")
        if integers is not None or by_grid:
            return integers
        return True if _WHOLE.fullmatch(self.schema or "") else None

    # The values

    def only(self) -> Column:
        """Return the only column of a table that has one, and any other column unchanged.

        scikit-learn accepts such labels and scores: (n, 1) arrays, rows of one value, and data
        frames with one column. The result depends on types and shapes alone.

        Examples
        --------
        >>> import numpy as np
        >>> Column.of(np.array([[0.5], [0.25]])).only().joined()
        array([0.5 , 0.25])
        """
        return self

    def check_in_memory(self) -> None:
        """Refuse a column that is elsewhere, because nobody has asked to fetch it."""
        if self.is_partitioned or self.is_lazy:
            what = "must be in memory: this needs all records in one place"
            raise DtypeError(self.argument, self.described, f"{what} (docs/guides/large-data.md)")

    def parts(self) -> Iterator[Part]:
        """Yield the values in order.

        Raises
        ------
        DtypeError, ParameterError
            dpcore does not know this kind of column, or it is not in memory. The error depends on
            types and shapes alone.
        """
        self.check_in_memory()
        read = partial(next, self._parts(), None)
        while (part := self._quietly(read)) is not None:
            yield part

    def coded_parts(self) -> Iterator[tuple[Part, NDArray[np.integer[Any]] | None]]:
        """Yield the values in order, as ``parts`` does; or words, and which of them each value is.

        A container that keeps each word once, as categoricals do, so gives the words as a part, and
        a code of each value: the index of its word, or -1 where the value is missing. The codes are
        None if the part holds the values themselves.

        Examples
        --------
        >>> import pandas as pd
        >>> by = Column.of(pd.Series(["b", None, "b"], dtype="category"), "by")
        >>> [(part.present.tolist(), codes.tolist()) for part, codes in by.coded_parts()]
        [(['b'], [0, -1, 0])]
        """
        self.check_in_memory()
        read = partial(next, self._coded(), None)
        while (pair := self._quietly(read)) is not None:
            yield pair

    def _coded(self) -> Iterator[tuple[Part, NDArray[np.integer[Any]] | None]]:
        """Yield what ``coded_parts`` yields, or raise any error."""
        return ((part, None) for part in self._parts())

    def chunks(
        self, unit: times.Unit | None = None, requirement: str = doubles.REQUIREMENT
    ) -> Iterator[Chunk | None]:
        """Yield the values, rounded up to doubles, or times in whole microseconds.

        None stands for missing values that the container marks apart. None and pandas' NA among
        objects become NaN. The memory beyond the container is one chunk, unless it has to convert.

        Parameters
        ----------
        unit, requirement
            The unit that the column must have, or None for numbers. The requirement is the text of
            errors about the unit; for numbers, about times.

        Raises
        ------
        DtypeError
            The column does not hold real numbers or does not have the unit, or it has an object of
            another type.
        ParameterError
            The values are not one-dimensional.

        Notes
        -----
        The error depends on types and shapes, and never on a value.
        """
        self._refuse_text(unit, requirement)
        for part in self.parts():
            yield from self._doubles(part, unit, requirement)
            if part.absent is not None:
                yield None

    def joined(
        self, unit: times.Unit | None = None, requirement: str = doubles.REQUIREMENT
    ) -> Chunk:
        """Return the values of ``chunks`` in one piece, with NaN for missing values."""
        self._refuse_text(unit, requirement)
        pieces: list[Any] = []
        for part in self.parts():
            present = list(self._doubles(part, unit, requirement))
            if part.absent is None:
                pieces += present
                continue
            spread = np.full(part.absent.size, np.nan)
            spread[~part.absent] = np.concatenate([np.empty(0), *present])
            pieces.append(spread)
        joined: Chunk = pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0), *pieces])
        return joined

    def numbers(self, requirement: str = doubles.REQUIREMENT) -> NDArray[Any]:
        """Return numbers of any shape, (n, d) of a table, with NaN for missing values.

        A table is read column by column: the type of one, or a missing value, rounds no other.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"a": [2**53 + 1, 1], "b": [0.5, None]})
        >>> Column.of(table).numbers().tolist()
        [[9007199254740994.0, 0.5], [1.0, nan]]
        """
        self.check_in_memory()
        columns = self.columns
        kinds = {column.type_name.lower() for column in columns}
        is_array = hasattr(self.values, "__array__")
        is_of_floats = is_array and len(kinds) == 1 and kinds.pop().startswith(_FLOATS)
        if is_of_floats or not columns:
            values = np.asarray(self.values) if is_of_floats else self.values
            return doubles.numbers_of(self.argument, values, requirement)
        read = [column.joined(requirement=requirement) for column in columns]
        return read[0] if columns[0] is self else np.stack(read, axis=1)

    def as_labels(self, part: Part) -> NDArray[Any]:
        """Return the present values of a part, to be compared with labels."""
        return part.present

    # Columns of the same records

    def check_index(self, other: Column) -> None:
        """Check that another column of pandas has the index of this one, in the same order.

        pandas pairs records by their index, and dpcore by their position. The two agree only if the
        indices are equal.

        Raises
        ------
        ParameterError
            The indices differ. The message shows nothing of them.

        Examples
        --------
        >>> import pandas as pd
        >>> by = Column.of(pd.Series([3, 4], [1, 0]), "by")
        >>> Column.of(pd.Series([1, 2])).check_index(by)
        Traceback (most recent call last):
        ...
        dpcore.errors.ParameterError: by must have the index of values, in its order: write ...
        """
        ours, theirs = self.index, other.index
        if ours is None or theirs is None or ours is theirs or len(ours) != len(theirs):
            return  # other lengths are refused as other shapes
        if len(ours) == 0:
            return
        try:
            if ours.equals(theirs):
                return
        except MemoryError:
            raise
        except Exception:  # objects that cannot be compared; the error may quote them
            pass
        what = (
            f"must have the index of {self.argument}, in its order: write "
            f"{other.argument}.reindex({self.argument}.index), or {other.argument}.to_numpy() to "
            "pair records by position"
        )
        raise ParameterError(other.argument, "another index", what)

    def check_order(self, numbers: Column, role: str, stated: str) -> None:
        """Check that labels without a stated label are not the numbers, and numbers not labels.

        Parameters
        ----------
        numbers
            The column that was given beside the labels.
        role
            What its numbers are.
        stated
            How the user states that labels are floats.

        Raises
        ------
        DtypeError
            The labels are floats, and the numbers are integers or booleans, by the dtypes of
            columns. The types of objects in a list are not asked, because one record would make the
            difference. Warnings from released numbers tell of exchanged lists.

        Examples
        --------
        >>> import numpy as np
        >>> scores = Column.of(np.array([0, 1]), "y_score")
        >>> Column.of(np.array([0.3, 0.8]), "y_true").check_order(scores, "scores", "pos_label=1")
        Traceback (most recent call last):
        ...
        dpcore.errors.DtypeError: y_true must be labels, and y_score scores. Are they in this ...
        """
        own, other = (column.only().type_name.lower() for column in (self, numbers))
        if own.startswith(_FLOATS) and other.startswith(_INTEGERS):
            what = (
                f"must be labels, and {numbers.argument} {role}. Are they in this order? If labels "
                f"are floats, say so by {stated}"
            )
            named = f"floats, beside integers or booleans in {numbers.argument}"
            raise DtypeError(self.argument, named, what)

    # For subclasses

    def _not_one(self, named: str | None = None, hint: str = "") -> DtypeError:
        """Return the error for a container that is no single column."""
        return DtypeError(self.argument, named or self.described, _ONE_COLUMN + hint)

    def _quietly(self, read: Callable[[], Result]) -> Result:
        """Return what a function reads. Errors of other libraries, which may quote values, do not
        pass.
        """
        try:
            return read()
        except (DpcoreError, MemoryError):
            raise
        except Exception:
            what = "must be a one-dimensional array, or one column, of a type that dpcore knows"
            problem = DtypeError(self.argument, f"a {type(self.values).__name__}", what)
        # Outside the handler, because the caught error would be the context.
        raise problem

    def _refuse_text(self, unit: times.Unit | None, requirement: str) -> None:
        """Refuse a column whose type says that it holds text, whatever is missing."""
        if (kind := self.text_type) is not None:
            allowed = doubles.REQUIREMENT if unit is None else requirement
            raise DtypeError(self.argument, _hinted(f"a column of {kind.__name__}", unit), allowed)

    def _doubles(self, part: Part, unit: times.Unit | None, requirement: str) -> Iterator[Chunk]:
        """Yield the values that the container does not mark as missing."""
        if unit is None:
            yield from doubles.chunks(part.present, self.argument, requirement)
            return
        array, part_unit = part.present, times.unit_of_array(part.present, part.in_utc)
        if part_unit not in (unit, "missing"):
            if array.dtype.kind in "UT":
                raise DtypeError(self.argument, _hinted("a column of str", unit), requirement)
            doubles.checked_kind(array, "biufmMO", self.argument, requirement)
            named = f"dtype {array.dtype}" if part_unit is None else times.described(part_unit)
            if self.schema is None and array.dtype.kind in "biuf":
                # A single record may have chosen the dtype.
                named = "numbers"
            raise DtypeError(self.argument, _hinted(named, unit), requirement)
        doubles.check_one_axis(self.argument, array.shape)
        for start in range(0, array.size, doubles.CHUNK):
            yield times.array_in(array[start : start + doubles.CHUNK])


@lru_cache(maxsize=256)
def _kind_of(container: type) -> type[Column] | None:
    """Return the class for containers of a type; None: they are columns themselves."""
    if issubclass(container, Column):
        return None
    libraries = frozenset(str(cls.__module__).partition(".")[0] for cls in container.__mro__)
    return next(kind for kind in Column._known if kind.takes(container, libraries))


def _hinted(named: str, unit: times.Unit | None) -> str:
    """Return the name of values in errors; for text, with the function that makes times of it."""
    if unit is None or not named.endswith(" str"):
        return named
    return f"{named} (pandas.to_{'timedelta' if unit == 'duration' else 'datetime'} reads it)"
