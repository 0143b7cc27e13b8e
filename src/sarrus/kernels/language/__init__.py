"""Translates kernels from a small subset of Python to LLVM's language.

The subset: numbers (float, int, bool), arrays of them in C order, named tuples of all these, and None; loops over
ranges, while, if, sums and products, calls of other kernels. A function is translated separately for each set of
argument types, with the semantics of Python. A condition like `loads is None` is decided during translation, so
that the other case costs nothing. Integer division requires nonnegative operands; indices are never negative.

A named tuple is stored in memory as consecutive words (`TupleType`): the address of each array and its sizes, and
each number. It is passed by its address.
"""
