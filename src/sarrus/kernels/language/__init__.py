"""Kernels from Python to LLVM's language: the small part of Python in which they are written.

Numbers (float, int, bool), arrays of them in C order, named tuples of all these, and None; loops over ranges,
while, if, sums and products, calls of other kernels. A function is translated anew for each set of types it is
called with, as it would run in Python; a condition like `loads is None` is decided here, so that what belongs to
the other case costs nothing. Divisions of integers are of what is not negative; indices are never negative.

A named tuple lies in memory as words (`Record`): the address of each array and its sizes, each number, one after
the other. Handing it on is handing on its address.
"""
