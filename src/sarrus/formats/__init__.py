"""Models of other programs: MJCF, URDF with closures, ASMT to and from a Mechanism."""
