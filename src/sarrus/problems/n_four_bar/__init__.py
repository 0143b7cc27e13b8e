"""The N four-bar: one freedom that becomes N + 1 whenever the mechanism is flat."""
