"""Local analysis of a configuration: all branches of the joint equations through it (docs/branches.md)."""
