"""From text to code: the host's vectors, or PTX for a GPU; object code is kept on disk (cache.py).

It is named by the digest of its text, below one of the processor and the versions of the compiler.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from ..cache import Store
from ..kernels.native import describe_host, make_host
from .ir import Ir
from .series import write_run
from .structure import Structure
from .watch import Watch

ENTRY = "run"
# numbers, groups, memory, times, outputs, results, summaries, arguments
SIGNATURE = ctypes.CFUNCTYPE(
    None, *(ctypes.c_void_p if k in (0, 2, 3, 5, 6, 7) else ctypes.c_int64 for k in range(8))
)
PTX_TRIPLE = "nvptx64-nvidia-cuda"


class Code:
    """Compiled code of a structure: call it with arrays that `ensemble` lays out."""

    def __init__(self, structure: Structure, lanes: int, watches: bool = False) -> None:
        self.structure, self.lanes = structure, lanes
        text, o = write_text(structure, lanes, gpu=False, watches=watches)
        self.memory_size, self.summaries = o.memory_size, o.summary_places
        self.columns = o.put_columns
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), make_host())
        data = load_or_make(text, lambda: compile_host(text))
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        # the engine owns the memory of the code
        self._engine = engine
        self.run = SIGNATURE(engine.get_function_address(ENTRY))


def write_text(
    structure: Structure, lanes: int, gpu: bool, watches: bool = False
) -> tuple[str, Ir]:
    """The code of a structure in LLVM's language; watches: with the times of crossings."""
    o = Ir(lanes, gpu)
    o.put_columns = len(structure.columns) + 1
    o.slots = structure.slots
    memories = ("landing", "sampling", *(["watching"] if watches else []))
    o.entry(ENTRY, memories, lambda o: write_run(o, structure, Watch if watches else None))
    return o.module() + "\n!0 = !{}\n", o


def _optimise(text: str, machine: Any, whole: bool) -> Any:
    """Parsed and improved; whole: by all passes, which inline. For a host the few that matter halve the time
    to compile, and the code is as fast.
    """
    module = llvm.parse_assembly(text)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    # structure is unrolled already
    tuning.loop_unrolling = False
    passes = llvm.create_pass_builder(machine, tuning)
    if whole:
        passes.getModulePassManager().run(module, passes)
        return module
    light = llvm.create_new_function_pass_manager()
    light.add_sroa_pass()
    light.add_simplify_cfg_pass()
    light.add_instruction_combine_pass()
    for function in module.functions:
        if not function.is_declaration:
            light.run(function, passes)
    return module


def compile_host(text: str) -> bytes:
    """Object code for this processor."""
    machine = make_host()
    head = f'target triple = "{machine.triple}"\n'
    return machine.emit_object(_optimise(head + text, machine, whole=False))


def compile_ptx(
    structure: Structure, processor: str = "sm_70", watches: bool = False
) -> tuple[str, Ir]:
    """PTX of a structure, one mechanism a thread."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    text, o = write_text(structure, 1, gpu=True, watches=watches)
    target = llvm.Target.from_triple(PTX_TRIPLE)
    machine = target.create_target_machine(cpu=processor, opt=3, features="+ptx78")
    head = f'target datalayout = "{machine.target_data}"\ntarget triple = "{PTX_TRIPLE}"\n'
    return machine.emit_assembly(_optimise(head + text, machine, whole=True)), o


# on disk


def _store() -> Store:
    """Object code of this processor and these versions of the compiler."""
    digest = hashlib.sha256()
    for part in describe_host():
        digest.update(part.encode() + b"\0")
    return Store(f"objects-{digest.hexdigest()[:16]}", "mechanisms")


def load_or_make(text: str, make: Callable[[], bytes]) -> bytes:
    """Object code of a text from the disk if it can be trusted, or made and kept there."""
    store, name = _store(), hashlib.sha256(text.encode()).hexdigest()
    data = store.read(name)
    if data is None:
        data = make()
        store.write(name, data)
    return data
