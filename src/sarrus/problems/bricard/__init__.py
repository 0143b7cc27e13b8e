"""Bricard's mechanism: no freedom by the joint count, one in truth, redundant at every position."""
