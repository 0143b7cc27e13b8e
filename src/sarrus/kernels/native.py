"""Compilation of LLVM text to machine code for this processor."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import threading
from functools import lru_cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

# Oldest LLVM version with opaque pointers and the pass builder, which the generated text and the calls below need.
OLDEST = (15, 0)
# System functions that compiled code may call.
LIBRARY = (
    "log",
    "exp",
    "sin",
    "cos",
    "pow",
    "atan2",
    "fmod",
    "rint",
    "memset",
    "memcpy",
    "memmove",
)


def is_available() -> bool:
    """Whether the installed compiler supports the generated text."""
    return tuple(llvm.llvm_version_info[:2]) >= OLDEST and hasattr(llvm, "create_pass_builder")


@lru_cache(maxsize=1)
def describe_host() -> tuple[str, ...]:
    """Everything that compiled code depends on: the processor and the versions of the compiler."""
    return (
        *(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()),
        *(llvmlite.__version__, repr(llvm.llvm_version_info), llvm.get_process_triple()),
    )


def make_host(level: int = 2) -> Any:
    """Create a target machine; each engine takes ownership of its own. level: code generation optimisation."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        codemodel="jitdefault",
        jit=True,
    )


def compile_kernel(text: str, level: int = 1) -> bytes:
    """Object code of a kernel, with the optimisation passes of a level.

    Vectorisation and loop unrolling would double the compile time without gain: loops are as short as rows of
    sparse matrices. The same is true of code generation level 2 for unrolled loops.
    """
    machine = make_host(1)
    head = f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'
    module = llvm.parse_assembly(head + text)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))


class NativeCode:
    """Object code in memory, for the lifetime of this object."""

    def __init__(self) -> None:
        self._engine: Any = None
        self._lock = threading.Lock()

    def load(self, code: bytes, name: str) -> int:
        """Address of a function of some object code."""
        with self._lock:
            if self._engine is None:
                _name_library()
                self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), make_host())
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            return int(self._engine.get_function_address(name))


def _name_library() -> None:
    """Register the addresses of the system functions with the linker."""
    for word in ("m", "c"):
        name = "msvcrt" if os.name == "nt" else ctypes.util.find_library(word)
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        for function in LIBRARY:
            if hasattr(library, function):
                address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
                llvm.add_symbol(function, address)
