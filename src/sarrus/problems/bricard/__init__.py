"""The rectangular Bricard linkage: one redundant equation at every position."""
