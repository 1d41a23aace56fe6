"""Loading machine code into this process with LLVM's linker alone. Numba is not imported.

The linker is the one that Numba uses. Each kernel has an engine of its own, so that no name in one
can be another's. Nothing is ever unloaded: arrays that kernels returned outlive everything.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

_METH_FASTCALL = 0x0080

_FUNCTIONS = (
    "PyBool_FromLong",
    "PyBytes_FromStringAndSize",
    "PyCapsule_GetPointer",
    "PyCapsule_New",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_FromDouble",
    "PyLong_AsLongLongAndOverflow",
    "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong",
    "PyMem_RawFree",
    "PyMem_RawMalloc",
    "PyObject_CallOneArg",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_Size",
    "Py_DecRef",
    "Py_IncRef",
)
_OBJECTS = {
    "False": False,
    "None": None,
    "NotImplemented": NotImplemented,
    "True": True,
    "float": float,
    "int": int,
    "ndarray": np.ndarray,
}
# Positions in the table of NumPy's C interface. They never change.
_NUMPY_FUNCTIONS = {"PyArray_New": 93, "PyArray_SetBaseObject": 282}
_NUMPY_LAYOUT = 2  # the version of NumPy's binary interface for which ``_entry`` reads arrays

NUMBERS = "?bBhHiIlLqQfd"
"""The characters of the number types of NumPy, some of which are the same number."""


@dataclass(frozen=True, slots=True)
class Code:
    """The machine code of a kernel for arguments of some types."""

    entry: str
    """The name of the function that takes Python's objects."""
    names: tuple[str, ...]
    """What has to be in the process for it."""
    objects: tuple[bytes, ...]
    """Object files."""


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def class_name(number: int) -> str:
    """Return the name that machine code uses for the class of a tuple among its arguments."""
    return f"class.{number}"


def prepare(classes: list[type]) -> None:
    """Tell LLVM what the next machine code may refer to, by names of our own.

    Functions and objects of Python's and NumPy's, and the classes of tuples.
    """
    _prepare_for_all()
    for number, each in enumerate(classes):
        llvm.add_symbol(f"dpcore.{class_name(number)}", id(each))


@cache
def _prepare_for_all() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    python = _python()
    for name in _FUNCTIONS:
        llvm.add_symbol(f"dpcore.{name}", _address(getattr(python, name)))
    for name, each in _OBJECTS.items():
        llvm.add_symbol(f"dpcore.{name}", id(each))
    for character in NUMBERS:
        llvm.add_symbol(f"dpcore.number.{character}", id(np.dtype(character).type))
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    numpy: Any = importlib.import_module("numpy._core._multiarray_umath")
    start = python.PyCapsule_GetPointer(numpy._ARRAY_API, None)
    table = ctypes.cast(start, ctypes.POINTER(ctypes.c_void_p))
    _require_known_layouts(ctypes.PYFUNCTYPE(ctypes.c_uint)(table[0])() >> 24)
    for name, place in _NUMPY_FUNCTIONS.items():
        llvm.add_symbol(f"dpcore.{name}", table[place])


def _require_known_layouts(version: int) -> None:
    """Raise if arrays or numbers may be laid out otherwise than ``_entry`` reads them.

    Of arrays, the version of NumPy's binary interface says so; a number is looked at.
    """
    number, head = 1.25, object.__basicsize__
    type_of = ctypes.c_void_p.from_address(id(number) + head - ctypes.sizeof(ctypes.c_void_p))
    value = ctypes.c_double.from_address(id(number) + head)
    if (version, type_of.value, value.value) != (_NUMPY_LAYOUT, id(float), number):
        raise RuntimeError("arrays or numbers are laid out in a way that is not known")


def entry(name: str, code: Code, classes: list[type]) -> Callable[..., Any] | None:
    """Return a kernel as a Python function, or None if it cannot be linked."""
    prepare(classes)
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    # A missing symbol would end the process. (Before an engine exists, LLVM finds fewer symbols.)
    if not all(llvm.address_of_symbol(each) for each in code.names):
        return None
    try:
        for each in code.objects:
            engine.add_object_file(llvm.ObjectFileRef.from_data(each))
    except RuntimeError:  # this is not an object file for this platform
        return None
    engine.finalize_object()
    address = engine.get_function_address(code.entry)
    if not address:
        return None
    definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL, None)
    make = _python().PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDefinition), ctypes.py_object, ctypes.py_object]
    made: Callable[..., Any] = make(definition, _failed, None)
    keep = _python().Py_IncRef
    keep.argtypes = [ctypes.py_object]
    for kept in (engine, definition, *classes):
        keep(kept)
    return made


@cache
def _python() -> ctypes.PyDLL:
    """Return Python's C interface, with function types that nobody else changes."""
    return ctypes.PyDLL("python", handle=ctypes.pythonapi._handle)


def _address(function: Any) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found


def _failed(pickled: bytes) -> None:
    """Raise the exception that a kernel raised."""
    import pickle

    if not pickled:
        raise RuntimeError("a kernel failed, or returned an array that it was given")
    exception, arguments, _ = pickle.loads(pickled)
    raise exception(*arguments)
