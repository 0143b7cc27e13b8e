"""What a linkage is: bodies, points, joints, gravity, start velocities; model files. No numerics."""

from .check import Gap, check_mechanism, find_gaps, find_problems, measure_apart
from .errors import MechanismError, ModelFileError
from .files import from_data, get_value, load, load_data, load_file, save, set_value, to_data
from .forces import Drive, Force, Spring, Torque, Torsion, UserForce
from .mechanism import Body, Joint, JointKind, Marker, Mechanism
from .motion import Motion, Polynomial, Sine, SmoothStep, Table
from .moved import Move, loosen_rods, move_bodies, without_drives
from .remarks import find_remarks
from .variation import vary

__all__ = [
    "Body",
    "Drive",
    "Force",
    "Gap",
    "Joint",
    "JointKind",
    "Marker",
    "Mechanism",
    "MechanismError",
    "ModelFileError",
    "Motion",
    "Move",
    "Polynomial",
    "Sine",
    "SmoothStep",
    "Spring",
    "Table",
    "Torque",
    "Torsion",
    "UserForce",
    "check_mechanism",
    "find_gaps",
    "find_problems",
    "find_remarks",
    "from_data",
    "get_value",
    "load",
    "load_data",
    "load_file",
    "save",
    "set_value",
    "to_data",
    "loosen_rods",
    "measure_apart",
    "move_bodies",
    "vary",
    "without_drives",
]
