"""What a linkage is: bodies, points, joints, gravity, start velocities. No numerics."""

from .check import check_mechanism, find_problems
from .errors import MechanismError
from .mechanism import Body, Joint, JointKind, Marker, Mechanism

__all__ = [
    "Body",
    "Joint",
    "JointKind",
    "Marker",
    "Mechanism",
    "MechanismError",
    "check_mechanism",
    "find_problems",
]
