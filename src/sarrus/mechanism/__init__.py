"""What a linkage is: bodies, points, joints, gravity, start velocities. No numerics."""

from .check import check_mechanism, find_problems
from .errors import MechanismError
from .forces import Drive, Force, Spring, Torque, Torsion, UserForce
from .mechanism import Body, Joint, JointKind, Marker, Mechanism
from .motion import Motion, Polynomial, Sine, SmoothStep, Table
from .variation import vary

__all__ = [
    "Body",
    "Drive",
    "Force",
    "Joint",
    "JointKind",
    "Marker",
    "Mechanism",
    "MechanismError",
    "Motion",
    "Polynomial",
    "Sine",
    "SmoothStep",
    "Spring",
    "Table",
    "Torque",
    "Torsion",
    "UserForce",
    "check_mechanism",
    "find_problems",
    "vary",
]
