"""Kernels into machine code, by Numba, with an entry of our own (``_entry``)."""

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
from numba.core.typed_passes import NativeLowering

from ._entry import Entry, gives, takes
from ._machine import Code, prepare

_ALLOCATE, _DESTROY = "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor"
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
    """Numba's, but for the entry."""

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
    library = compiled.library
    module = library._final_module
    names = [
        each.name
        for each in (*module.functions, *module.global_variables)
        if each.is_declaration and not each.name.startswith("llvm.")
    ]
    objects = [library._get_compiled_object()]
    if any(name in (_ALLOCATE, _DESTROY) for name in names):
        objects.append(_memory())
        names = [name for name in names if name not in (_ALLOCATE, _DESTROY)]
        names += ["dpcore.PyMem_RawFree", "dpcore.PyMem_RawMalloc"]
    if not gives(compiled.signature.return_type) or any(
        name.startswith(_NUMBAS_OWN) for name in names
    ):
        return None
    entry = compiled.fndesc.llvm_cpython_wrapper_name
    return Code(entry, tuple(sorted(names)), tuple(objects))


def _kind(argument: Any) -> types.Type:
    """Return Numba's type of an argument. What Numba says of it leaves out what is not aligned."""
    kind = numba.typeof(argument)
    if not isinstance(kind, types.Array) or argument.flags.aligned:
        return kind
    return types.Array(kind.dtype, kind.ndim, kind.layout, not kind.mutable, aligned=False)


@cache
def _memory() -> bytes:
    """Return machine code for the memory of arrays in kernels, without Numba's statistics.

    A block begins as Numba's do (numba/core/runtime/nrt.cpp): how many hold it; two words that
    are for other uses; where the data are; their size.
    """
    module = ir.Module("memory")
    module.triple = llvm.get_process_triple()
    byte, word, none = ir.IntType(8).as_pointer(), ir.IntType(64), ir.VoidType()
    allocate = ir.Function(module, ir.FunctionType(byte, [word]), "dpcore.PyMem_RawMalloc")
    free = ir.Function(module, ir.FunctionType(none, [byte]), "dpcore.PyMem_RawFree")

    destroy = ir.Function(module, ir.FunctionType(none, [byte]), _DESTROY)
    b = ir.IRBuilder(destroy.append_basic_block())
    b.call(free, destroy.args)
    b.ret_void()

    made = ir.Function(module, ir.FunctionType(byte, [word, ir.IntType(32)]), _ALLOCATE)
    b = ir.IRBuilder(made.append_basic_block())
    size = made.args[0]
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

    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    return cpu_target.target_context.codegen()._tm.emit_object(parsed)
