"""The N four-bar: a row of windows that goes flat twice per turn."""
