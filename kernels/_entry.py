"""The entry of a kernel from Python, which checks its arguments.

For arguments of other types than the kernel's, it returns ``NotImplemented``.

Machine code, made with the kernel's: a function of an array of objects. Arguments are borrowed
from the caller, who holds them until the kernel has returned. The fields of arrays and numbers are
those of the binary interfaces of NumPy 2 and of Python.
"""

# mypy: ignore-errors
# (Numba's builders have no annotations.)

from __future__ import annotations

import ctypes
import sys

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.np import numpy_support
from numba.np.arrayobj import populate_array

from ._machine import NUMBERS, class_name

_HEAD = object.__basicsize__  # the size of the head of every object; its last word is the type
_WORD = ir.IntType(64)
_INT = ir.IntType(32)
_BYTE = ir.IntType(8)
_POINTER = _BYTE.as_pointer()

# Flags of arrays (numpy/ndarraytypes.h).
_C_ORDER, _F_ORDER, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400
_OTHER_ORDER_OF_BYTES = ord(">" if sys.byteorder == "little" else "<")


def takes(kind: types.Type) -> bool:
    """Return whether arguments of this type can be passed."""
    if isinstance(kind, types.BaseTuple):
        return all(map(takes, kind.types))
    if isinstance(kind, types.Array):
        return _is_number(kind.dtype) and kind.layout in "CFA"
    return _is_number(kind)


def gives(kind: types.Type) -> bool:
    """Return whether results of this type can be returned."""
    if isinstance(kind, types.BaseTuple):
        return not isinstance(kind, types.BaseNamedTuple) and all(map(gives, kind.types))
    if isinstance(kind, types.Array):
        return _is_number(kind.dtype)
    return kind is types.none or _is_number(kind)


def _is_number(kind: types.Type) -> bool:
    return bool(_characters(kind))


def _characters(kind: types.Type) -> list[str]:
    """Return the characters of the NumPy types that represent this number type."""
    if not isinstance(kind, types.Integer | types.Float | types.Boolean):
        return []
    dtype = numpy_support.as_dtype(types.unliteral(kind))
    return [each for each in NUMBERS if np.dtype(each) == dtype]


class Entry:
    """Builds the entry of one kernel."""

    def __init__(self, context, library, fndesc) -> None:
        self.context, self.library, self.fndesc = context, library, fndesc
        self.module = context.create_module("entry")
        kind = ir.FunctionType(_POINTER, [_POINTER, _POINTER.as_pointer(), _WORD])
        self.function = ir.Function(self.module, kind, fndesc.llvm_cpython_wrapper_name)
        self.mismatch = self.function.append_basic_block("mismatch")
        self.builder = ir.IRBuilder(self.function.append_basic_block("start"))
        self.function.blocks.reverse()  # a function starts with its first block
        self.tuples = 0

    def build(self) -> None:
        """Add the entry to the kernel's module."""
        b, fndesc, conventions = self.builder, self.fndesc, self.context.call_conv
        _, arguments, count = self.function.args
        self.require(b.icmp_signed("==", count, _WORD(len(fndesc.argtypes))))
        objects = [b.load(b.gep(arguments, [_WORD(i)])) for i in range(len(fndesc.argtypes))]
        values = [self.value(*pair) for pair in zip(fndesc.argtypes, objects, strict=True)]
        kind = conventions.get_function_type(fndesc.restype, fndesc.argtypes)
        kernel = ir.Function(self.module, kind, fndesc.llvm_func_name)
        state = self.call("PyEval_SaveThread", _POINTER)
        status, result = conventions.call_function(
            b, kernel, fndesc.restype, fndesc.argtypes, values
        )
        self.call("PyEval_RestoreThread", ir.VoidType(), state)
        with b.if_then(status.is_error, likely=False):
            self.fail(status)
        b.ret(self.object(fndesc.restype, result))
        b.position_at_end(self.mismatch)
        b.ret(self.held("NotImplemented"))
        self.library.add_ir_module(self.module)

    # Calls of functions, and reads of objects.

    def call(self, name, result, *arguments):
        """Call a function of Python or NumPy."""
        kind = ir.FunctionType(result, [each.type for each in arguments])
        return self.builder.call(
            cgutils.get_or_insert_function(self.module, kind, f"dpcore.{name}"), arguments
        )

    def known(self, name):
        """Return the address of an object that is there from the start."""
        name = f"dpcore.{name}"
        found = self.module.globals.get(name)
        return found or cgutils.add_global_variable(self.module, _BYTE, name)

    def held(self, name):
        """Return an object that is there from the start, as a new reference."""
        self.call("Py_IncRef", ir.VoidType(), self.known(name))
        return self.known(name)

    def field(self, pointer, offset, kind):
        """Load the field that is ``offset`` bytes behind the head of an object."""
        b = self.builder
        place = b.gep(pointer, [_WORD(_HEAD + offset)])
        return b.load(b.bitcast(place, kind.as_pointer()))

    def require(self, condition) -> None:
        """Continue if the condition holds. Otherwise, the arguments are not for this entry."""
        after = self.function.append_basic_block()
        self.builder.cbranch(condition, after, self.mismatch)
        self.builder.position_at_end(after)

    def is_any(self, pointer, names):
        """Return whether an address belongs to one of some objects."""
        found = ir.Constant(ir.IntType(1), 0)
        for name in names:
            found = self.builder.or_(
                found, self.builder.icmp_unsigned("==", pointer, self.known(name))
            )
        return found

    def type_of(self, pointer):
        """Return the address of an object's type."""
        return self.field(pointer, -self.context.get_abi_sizeof(_POINTER), _POINTER)

    # Conversions from objects to the kernel's arguments.

    def value(self, kind, pointer):
        """Return an argument in the form that the kernel takes."""
        if isinstance(kind, types.Array):
            return self.array(kind, pointer)
        if isinstance(kind, types.BaseTuple):
            return self.tuple(kind, pointer)
        return self.number(kind, pointer)

    def number(self, kind, pointer):
        """Return a number of Python or NumPy."""
        b, type_of = self.builder, self.type_of(pointer)
        numpys = self.is_any(type_of, [f"number.{each}" for each in _characters(kind)])
        stored = _BYTE if isinstance(kind, types.Boolean) else self.context.get_value_type(kind)
        if isinstance(kind, types.Boolean):
            truth = self.is_any(pointer, ["True"])
            self.require(b.or_(numpys, b.or_(truth, self.is_any(pointer, ["False"]))))
            found = cgutils.alloca_once_value(b, b.zext(truth, _BYTE))
        elif kind == types.int64:
            self.require(b.or_(numpys, self.is_any(type_of, ["int"])))
            found = cgutils.alloca_once_value(b, _WORD(0))
            overflow = cgutils.alloca_once_value(b, _INT(0))
            with b.if_then(b.not_(numpys)):
                name = "PyLong_AsLongLongAndOverflow"
                b.store(self.call(name, _WORD, pointer, overflow), found)
            self.require(b.icmp_signed("==", b.load(overflow), _INT(0)))
        else:
            pythons = ["float"] if kind == types.float64 else []  # same layout as NumPy's
            self.require(b.or_(numpys, self.is_any(type_of, pythons)))
            return self.field(pointer, 0, stored)
        with b.if_then(numpys):
            b.store(self.field(pointer, 0, stored), found)
        value = b.load(found)
        return b.icmp_unsigned("!=", value, _BYTE(0)) if stored is _BYTE else value

    def array(self, kind, pointer):
        """Return an array: its type, dimensions, order, and what may be done with it are right."""
        b = self.builder
        self.require(self.is_any(self.type_of(pointer), ["ndarray"]))
        self.require(b.icmp_signed("==", self.field(pointer, 8, _INT), _INT(kind.ndim)))
        asked = _C_ORDER | _ALIGNED | _WRITEABLE | (0 if kind.layout == "C" else _F_ORDER)
        wanted = {"C": _C_ORDER, "F": _F_ORDER, "A": 0}[kind.layout]
        wanted |= (_ALIGNED if kind.aligned else 0) | (_WRITEABLE if kind.mutable else 0)
        flags = b.and_(self.field(pointer, 48, _INT), _INT(asked))
        self.require(b.icmp_signed("==", flags, _INT(wanted)))
        numbers = self.field(pointer, 40, _POINTER)
        order = self.field(numbers, 10, _BYTE)
        self.require(b.icmp_unsigned("!=", order, _BYTE(_OTHER_ORDER_OF_BYTES)))
        type_number, found = self.field(numbers, 12, _INT), ir.Constant(ir.IntType(1), 0)
        for each in _characters(kind.dtype):
            same = b.icmp_signed("==", type_number, _INT(np.dtype(each).num))
            found = b.or_(found, same)
        self.require(found)
        result = self.context.make_array(kind)(self.context, b)
        lengths = [self._words(self.field(pointer, at, _POINTER), kind.ndim) for at in (16, 24)]
        populate_array(
            result,
            data=b.bitcast(self.field(pointer, 0, _POINTER), result.data.type),
            shape=lengths[0],
            strides=lengths[1],
            itemsize=numpy_support.as_dtype(kind.dtype).itemsize,
            meminfo=None,
        )
        return result._getvalue()

    def _words(self, pointer, count):
        words = self.builder.bitcast(pointer, _WORD.as_pointer())
        return [self.builder.load(self.builder.gep(words, [_WORD(i)])) for i in range(count)]

    def tuple(self, kind, pointer):
        """Return a tuple of a class that the process knows."""
        b = self.builder
        self.require(self.is_any(self.type_of(pointer), [class_name(self.tuples)]))
        self.tuples += 1
        size = self.call("PyTuple_Size", _WORD, pointer)
        self.require(b.icmp_signed("==", size, _WORD(len(kind.types))))
        parts = []
        for i, each in enumerate(kind.types):
            part = self.call("PyTuple_GetItem", _POINTER, pointer, _WORD(i))
            parts.append(self.value(each, part))
        return self.context.make_tuple(b, kind, parts)

    # Conversions from the kernel's results to objects.

    def object(self, kind, value):
        """Return a result as a new reference, or null with an exception set."""
        b = self.builder
        if kind is types.none:
            return self.held("None")
        if isinstance(kind, types.Boolean):
            return self.call("PyBool_FromLong", _POINTER, b.zext(value, self._long()))
        if isinstance(kind, types.Float):
            wide = value if kind == types.float64 else b.fpext(value, ir.DoubleType())
            return self.call("PyFloat_FromDouble", _POINTER, wide)
        if isinstance(kind, types.Integer):
            name = "PyLong_FromLongLong" if kind.signed else "PyLong_FromUnsignedLongLong"
            if kind.bitwidth < 64:
                value = (b.sext if kind.signed else b.zext)(value, _WORD)
            return self.call(name, _POINTER, value)
        if isinstance(kind, types.BaseTuple):
            made = self.made(self.call("PyTuple_New", _POINTER, _WORD(len(kind.types))))
            for i, each in enumerate(kind.types):
                part = self.made(self.object(each, b.extract_value(value, i)))
                self.call("PyTuple_SetItem", _INT, made, _WORD(i), part)
            return made
        return self.returned_array(kind, value)

    def returned_array(self, kind, value):
        """Return an array that owns what the kernel allocated."""
        b = self.builder
        array = self.context.make_array(kind)(self.context, b, value)
        with b.if_then(cgutils.is_null(b, array.meminfo), likely=False):
            self.have_raised(None)
        shape, strides = (
            b.bitcast(cgutils.alloca_once_value(b, each), _POINTER)
            for each in (array.shape, array.strides)
        )
        number = numpy_support.as_dtype(kind.dtype).num
        data = b.bitcast(array.data, _POINTER)
        arguments = [self.known("ndarray"), _INT(kind.ndim), shape, _INT(number), strides, data]
        arguments += [_INT(0), _INT(_WRITEABLE), _POINTER(None)]
        made = self.made(self.call("PyArray_New", _POINTER, *arguments))
        release = b.bitcast(self.release(), _POINTER)
        owner = self.call("PyCapsule_New", _POINTER, array.meminfo, _POINTER(None), release)
        self.call("PyArray_SetBaseObject", _INT, made, self.made(owner))
        return made

    def release(self):
        """Return the function that frees the memory of a returned array."""
        name = self.fndesc.llvm_cpython_wrapper_name + ".release"
        if name in self.module.globals:
            return self.module.globals[name]
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), [_POINTER]), name)
        outer, self.builder = self.builder, ir.IRBuilder(function.append_basic_block())
        memory = self.call("PyCapsule_GetPointer", _POINTER, function.args[0], _POINTER(None))
        kind = ir.FunctionType(ir.VoidType(), [_POINTER])
        decrease = cgutils.get_or_insert_function(self.module, kind, "NRT_decref")
        self.builder.call(decrease, [memory])
        self.builder.ret_void()
        self.builder = outer
        return function

    # Errors.

    def made(self, pointer):
        """Continue with a new object. Return null if there is no memory; an exception is set."""
        b = self.builder
        with b.if_then(cgutils.is_null(b, pointer), likely=False):
            b.ret(_POINTER(None))
        return pointer

    def fail(self, status) -> None:
        """Raise the kernel's exception in Python."""
        b = self.builder
        raised = b.icmp_signed(">=", status.code, ir.Constant(status.code.type, 1))
        with b.if_then(raised):
            self.have_raised(status.excinfoptr)
        self.have_raised(None)

    def have_raised(self, pointer) -> None:
        """Raise an exception, and return."""
        told = self.bytes(pointer)
        self.call("PyObject_CallOneArg", _POINTER, self.function.args[0], told)
        self.call("Py_DecRef", ir.VoidType(), told)
        self.builder.ret(_POINTER(None))

    def bytes(self, pointer):
        """Return a description of an exception as bytes; they may be empty."""
        b, text, size = self.builder, _POINTER(None), _WORD(0)
        if pointer is not None:
            text = b.load(cgutils.gep_inbounds(b, pointer, 0, 0))
            size = b.sext(b.load(cgutils.gep_inbounds(b, pointer, 0, 1)), _WORD)
        return self.made(self.call("PyBytes_FromStringAndSize", _POINTER, text, size))

    @staticmethod
    def _long():
        return ir.IntType(8 * ctypes.sizeof(ctypes.c_long))
