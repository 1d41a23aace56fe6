"""Compiling kernels with Numba, but with the entry of ``_entry``."""

# mypy: ignore-errors
# (Numba's compiler has no annotations.)

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import compiler, lowering, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.registry import cpu_target
from numba.core.runtime import nrtdynmod
from numba.core.typed_passes import NativeLowering

from . import _symbols
from ._entry import Entry, gives, takes
from ._machine import Code, prepare

# Functions of Numba's that kernels call and that this package provides, too.
# Then: prefixes of the names of all functions of Numba's.
_PROVIDED = {"NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor", "numba_frexp", "numba_ldexp"}
_NUMBAS_OWN = ("NRT_", "numba_", "_numba", "__svml", "_ZN")


class _Lowering(lowering.Lower):
    """Makes our entry where Numba makes its own."""

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        fndesc = self.fndesc
        if all(map(takes, fndesc.argtypes)) and gives(fndesc.restype):
            Entry(self.context, self.library, fndesc).build()
        else:
            super().create_cpython_wrapper(release_gil)


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):
    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> type[lowering.Lower]:
        return _Lowering


class _Compiler(compiler.CompilerBase):
    """Numba's class, with another entry."""

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        for i, (each, told) in enumerate(passes.passes):
            if each is NativeLowering:
                passes.passes[i] = (_KernelLowering, told)
        passes.finalize()
        return [passes]


@global_compiler_lock
def machine_code(
    function: Callable[..., object], arguments: tuple[Any, ...], classes: list[type]
) -> Code | None:
    """Compile a kernel for arguments like these, or return None where Numba has to call it."""
    prepare(classes)
    dispatcher = numba.njit(function, nogil=True, no_cfunc_wrapper=True, pipeline_class=_Compiler)
    kinds = tuple(map(_kind, arguments))
    if not all(map(takes, kinds)):
        return None
    dispatcher.compile(kinds)
    compiled = dispatcher.overloads[kinds]
    objects = [compiled.library._get_compiled_object(), _provided()]
    names = _needed(compiled.library._final_module, *objects)
    if not gives(compiled.signature.return_type) or any(
        name.startswith(_NUMBAS_OWN) for name in names
    ):
        return None
    entry = compiled.fndesc.llvm_cpython_wrapper_name
    return Code(entry, tuple(names), tuple(objects))


def _kind(argument: Any) -> types.Type:
    """Return Numba's type of an argument, including whether an array is aligned."""
    kind = numba.typeof(argument)
    if not isinstance(kind, types.Array) or argument.flags.aligned:
        return kind
    return types.Array(kind.dtype, kind.ndim, kind.layout, not kind.mutable, aligned=False)


def _needed(module: llvm.ModuleRef, *objects: bytes) -> list[str]:
    """Return the names that object files have to find in the process."""
    found = [_symbols.names(each) for each in objects]
    if None in found:
        either = (*module.functions, *module.global_variables)
        needed = {each.name for each in either if each.is_declaration} - _PROVIDED
        return sorted(name for name in needed if not name.startswith("llvm."))
    return sorted(set().union(*(b for _, b in found)) - set().union(*(a for a, _ in found)))


@cache
def _provided() -> bytes:
    """Return machine code for what kernels call of Numba's: its libraries are not loaded.

    Memory of arrays, without Numba's statistics, in blocks that begin as Numba's do
    (numba/core/runtime/nrt.cpp): how many hold it; two words that are for other uses; where the
    data are; their size. And two functions of C that Numba calls by names of its own.
    """
    parts = nrtdynmod._meminfo_struct_type.elements[:5]
    if [getattr(each, "width", None) for each in parts] != [64, None, None, None, 64]:
        raise RuntimeError("Numba's blocks of memory begin otherwise")
    module = ir.Module("provided")
    module.triple = llvm.get_process_triple()
    byte, word, half, none = (
        ir.IntType(8).as_pointer(),
        ir.IntType(64),
        ir.IntType(32),
        ir.VoidType(),
    )
    double = ir.DoubleType()

    def declared(name: str, result: ir.Type, *arguments: ir.Type) -> ir.Function:
        return ir.Function(module, ir.FunctionType(result, arguments), name)

    def body(function: ir.Function) -> ir.IRBuilder:
        return ir.IRBuilder(function.append_basic_block())

    allocate = declared("dpcore.PyMem_RawMalloc", byte, word)
    free = declared("dpcore.PyMem_RawFree", none, byte)
    destroy = declared("NRT_MemInfo_call_dtor", none, byte)
    b = body(destroy)
    b.call(free, destroy.args)
    b.ret_void()

    made = declared("NRT_MemInfo_alloc_aligned", byte, word, half)
    b, size = body(made), made.args[0]
    with b.if_then(b.icmp_unsigned(">", size, word(2**62))):
        b.ret(byte(None))
    alignment = b.zext(made.args[1], word)
    before = b.add(alignment, word(5 * 8))
    block = b.call(allocate, [b.add(before, size)])
    with b.if_then(b.icmp_unsigned("==", block, byte(None))):
        b.ret(block)
    end = b.add(b.ptrtoint(block, word), before)
    data = b.sub(end, b.urem(end, alignment))
    words = b.bitcast(block, word.as_pointer())
    for i, each in enumerate((word(1), word(0), word(0), data, size)):
        b.store(each, b.gep(words, [word(i)]))
    b.ret(block)

    for name, other in (("ldexp", half), ("frexp", half.as_pointer())):
        given = declared(f"numba_{name}", double, double, other)
        b = body(given)
        b.ret(b.call(declared(name, double, double, other), given.args))

    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    return cpu_target.target_context.codegen()._tm.emit_object(parsed)
