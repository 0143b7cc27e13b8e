"""Write elements of MJCF and other XML, with exact numbers."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import numpy as np

from ..arrays import Floats

# [kg m^2]; MuJoCo treats a smaller inertia as zero
LEAST_INERTIA = 1e-13
# Entries of a symmetric matrix, in the order of MJCF.
_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def write_tag(element: str, **values: str | float | Floats | None) -> str:
    """Return the start of an element, without its closing bracket; attributes that are None are omitted."""
    words = [
        f"{key}={quoteattr(v if isinstance(v, str) else ' '.join(repr(float(x)) for x in np.ravel(v)))}"
        for key, v in values.items()
        if v is not None
    ]
    return " ".join([f"<{element}", *words])


def write_inertial(place: Floats, mass: float, inertia: Floats) -> str:
    """Return mass, centre of mass and inertia about it, for a body of MJCF."""
    six = np.array([inertia[k] for k in _SIX])
    return write_tag("inertial", pos=place, mass=mass, fullinertia=six)


def write_tie(joint: str, other: str, ratio: float, name: str | None = None) -> str:
    """Return the MJCF equality that constrains one joint's coordinate to a multiple of another's."""
    line = np.array([0.0, ratio, 0.0, 0.0, 0.0])
    return write_tag("joint", name=name, joint1=joint, joint2=other, polycoef=line)
