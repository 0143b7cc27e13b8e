"""Kernels translated for runs in SIMD lanes, called with a row of numbers for each run."""

import ctypes

import numpy as np

from sarrus.kernels.language.kinds import INT, LANES, MASK, WHOLE, ArrayType, return_type
from sarrus.kernels.language.module import Module
from sarrus.kernels.native import NativeCode, compile_kernel
from sarrus.kernels.simd import WIDTH

ENGINES = []
ALL = np.ones(WIDTH, bool)


def compile_lanes(function, arrays, shared=(), unrolls=False):
    """A call of a kernel whose arguments are arrays of each run, then integers that all runs share.

    arrays: examples, float64 or int64. The call takes arrays with one more axis, the runs, a mask of the runs at
    hand, and the integers; it changes the arrays in place.
    """
    module = Module(unrolls=unrolls, alone=True, masked=True)
    kinds, lines, given = [], [], []
    for n, x in enumerate(arrays):
        kind = WHOLE if x.dtype == np.int64 else LANES
        kinds.append(ArrayType(kind, x.ndim, f"array{n}", tuple(map(str, x.shape))))
        lines += [
            f"%p{n} = getelementptr i64, ptr %words, i64 {n}",
            f"%a{n} = load ptr, ptr %p{n}",
        ]
        given.append(", ".join([f"ptr %a{n}", *(f"i64 {k}" for k in x.shape)]))
    for n in range(len(shared)):
        at = len(arrays) + n
        kinds.append(INT)
        lines += [
            f"%p{at} = getelementptr i64, ptr %words, i64 {at}",
            f"%s{n} = load i64, ptr %p{at}",
        ]
        given.append(f"i64 %s{n}")
    name, result = module.function(function, tuple(kinds))
    lines += [
        f"%bits = trunc i64 %mask to i{WIDTH}",
        f"%lanes = bitcast i{WIDTH} %bits to {MASK}",
        f"call {return_type(result)} @{name}({', '.join([*given, f'{MASK} %lanes'])})",
        "ret void",
    ]
    body = "\n  ".join(lines)
    text = module.text(f"define void @go(ptr %words, i64 %mask) nounwind {{\n  {body}\n}}\n")
    engine = NativeCode()
    ENGINES.append(engine)
    address = engine.load(compile_kernel(text, 2 if unrolls else 1), "go")
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address)

    def run(values, mask=ALL, shared=shared):
        words = np.array([x.ctypes.data for x in values] + list(shared), np.int64)
        call(words.ctypes.data, int(np.packbits(mask, bitorder="little")[0]))

    return run
