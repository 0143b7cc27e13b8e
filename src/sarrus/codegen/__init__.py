"""A model's own machine code: the series method written once, for NumPy and for LLVM.

operations  what the mathematics is written over: `twin.py` computes it with NumPy, slow and obvious; `ir.py`
            writes it as LLVM's language, for the lanes of a host's vectors or the threads of a GPU
structure   what of a model is the same for all of its topology (written into the code), what differs (loaded)
series      the mathematics: steps, landings, outputs; loads, drives: what acts; watch: crossings
machine     from text to code: host and PTX, kept on disk
"""
