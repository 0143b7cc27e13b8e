"""Elements of MJCF and other XML, written: numbers to the last bit."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import numpy as np

from ..arrays import Floats

# of a symmetric matrix, as MJCF lists them
_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def write_tag(element: str, **values: str | float | Floats | None) -> str:
    """An element's begin, without its closing bracket; what is None is left out."""
    words = [
        f"{key}={quoteattr(v if isinstance(v, str) else ' '.join(repr(float(x)) for x in np.ravel(v)))}"
        for key, v in values.items()
        if v is not None
    ]
    return " ".join([f"<{element}", *words])


def write_inertial(place: Floats, mass: float, inertia: Floats) -> str:
    """Mass, centre and inertia of a body of MJCF, about its centre."""
    six = np.array([inertia[k] for k in _SIX])
    return write_tag("inertial", pos=place, mass=mass, fullinertia=six)


def write_tie(joint: str, other: str, ratio: float, name: str | None = None) -> str:
    """The equality of MJCF that holds one joint's coordinate at a ratio of another's."""
    line = np.array([0.0, ratio, 0.0, 0.0, 0.0])
    return write_tag("joint", name=name, joint1=joint, joint2=other, polycoef=line)
