"""From LLVM's language to code on this processor."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import threading
from functools import lru_cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

# pointers without a type, and passes by name: what texts and the calls below need
OLDEST = (15, 0)
# what compiled code may ask the system for
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
    """Whether this compiler understands what is written here."""
    return tuple(llvm.llvm_version_info[:2]) >= OLDEST and hasattr(llvm, "create_pass_builder")


@lru_cache(maxsize=1)
def describe_host() -> tuple[str, ...]:
    """All that code depends on: the processor and the versions of the compiler."""
    return (
        *(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()),
        *(llvmlite.__version__, repr(llvm.llvm_version_info), llvm.get_process_triple()),
    )


def make_host(level: int = 2) -> Any:
    """A machine of its own for each use: an engine takes it over. level: its care with instructions."""
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
    """Object code of a kernel: the passes of a level. Vectors and unrolled loops would double the time to
    compile, and gain nothing: loops are as short as rows of sparse matrices. So would level 2 of the machine,
    where loops are written out.
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
    """Object code in memory, as long as this lives."""

    def __init__(self) -> None:
        self._engine: Any = None
        self._lock = threading.Lock()

    def load(self, code: bytes, name: str) -> int:
        """The address of a function of some object code."""
        with self._lock:
            if self._engine is None:
                _name_library()
                self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), make_host())
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            return int(self._engine.get_function_address(name))


def _name_library() -> None:
    """Tell the linker where the functions of the system are."""
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
