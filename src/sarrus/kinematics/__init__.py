"""Poses and rotations of bodies, loop closing, and the mechanism's length, shared by all higher packages."""
