"""Many mechanisms of one structure on a GPU, one per thread: the same kernels as PTX (extra: sarrus[gpu])."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels.batch_entry import ENTRY, BatchPlan, write_run
from ..lazy import module_on_use
from ..settings import RunSettings
from ..tracing import ManyNumbers
from .host import EnsembleValues, make_controls, output_times, split_results, sum_rows

llvm = module_on_use("llvmlite.binding")

# threads per block: as many as the registers of a multiprocessor allow
BLOCK = 128
# limit of the output bytes on the device
MOST_BYTES = 4_000_000_000
TRIPLE = "nvptx64-nvidia-cuda"


class DeviceError(RuntimeError):
    """No device is available; the message states the reason."""


def find_cupy() -> Any:
    """Return CuPy if there is a device, or raise DeviceError."""
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            "device='gpu' needs CuPy: install it with `pip install '.[gpu]'`, or leave device out"
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(f"no CUDA device was found ({error}); leave device out") from error
    if not count:
        raise DeviceError("no CUDA device was found; leave device out")
    return cupy


def compile_ptx(plan: BatchPlan, processor: str) -> str:
    """Return the PTX of the run kernel for a plan and a processor such as sm_90."""
    text, _ = write_run(plan, lanes=False)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(cpu=processor, opt=3, features="+ptx78")
    head = f'target datalayout = "{machine.target_data}"\ntarget triple = "{TRIPLE}"\n'
    module = llvm.parse_assembly(head + text)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = False
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    return str(machine.emit_assembly(module))


def run_on_device(
    plan: BatchPlan, numbers: ManyNumbers, settings: RunSettings, *, keep: bool = True
) -> EnsembleValues:
    """Compute all steps and outputs of some runs from their numbers, as `run_on_host` does."""
    cupy = find_cupy()
    kernel = _kernel_of(plan, f"sm_{cupy.cuda.Device().compute_capability}")
    runs, columns = numbers.variants, plan.columns + 1
    times, counted = output_times(settings)
    controls, sizes = make_controls(settings, counted, times)
    outputs = counted[1] - counted[0]
    part = max(BLOCK, min(runs, MOST_BYTES // (8 * outputs * columns))) if keep else runs
    values = np.empty((runs if keep else 0, outputs, columns))
    rows, results = sum_rows(plan), []
    shared = cupy.asarray(times), cupy.asarray(controls)
    for first in range(0, runs, part):
        n = min(part, runs - first)
        sizes[1] = n
        sizes[5:9] = 1, columns * n, n, int(keep)
        # numbers that all runs share are copied on the device, not transferred for each run
        given = cupy.empty((len(numbers.first), n))
        given[...] = cupy.asarray(numbers.first)[:, None]
        given[cupy.asarray(numbers.which)] = cupy.asarray(numbers.varied[:, first : first + n])
        out = cupy.empty((outputs, columns, n) if keep else 1)
        found = cupy.empty((rows, n))
        arguments = given, shared[0], out, shared[1], cupy.asarray(sizes), found
        kernel((-(-n // BLOCK),), (BLOCK,), arguments)
        results.append(found.get())
        if keep:
            values[first : first + n] = out.transpose(2, 0, 1).get()
    whole = results[0] if len(results) == 1 else np.concatenate(results, axis=1)
    return EnsembleValues(values, split_results(plan, whole))


_KERNELS: dict[tuple[str, str], Any] = {}
_LOCK = threading.Lock()


def _kernel_of(plan: BatchPlan, processor: str) -> Any:
    """Return the kernel of a plan, compiled once per process."""
    cupy = find_cupy()
    key = plan.digest(), processor
    with _LOCK:
        if key not in _KERNELS:
            # CuPy reads PTX from a file
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "run.ptx"
                path.write_text(compile_ptx(plan, processor), encoding="ascii")
                _KERNELS[key] = cupy.RawModule(path=str(path)).get_function(ENTRY)
        return _KERNELS[key]
