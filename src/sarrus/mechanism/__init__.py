"""What a linkage is: bodies, points, joints, gravity, start velocities; model files. No numerics."""

from .bodies import Body, Marker
from .check import check_drive_times, check_mechanism, find_gaps, find_problems, find_remarks
from .elements import LockedError, MechanismError, ModelFileError, Move
from .files import from_data, get_value, load, load_data, load_file, save, set_value, to_data
from .forces import Drive, Force, Spring, Torque, Torsion, UserForce
from .joint_kinds import JointKind
from .joints import End, Gap, Joint, measure_apart
from .mechanism import (
    Mechanism,
    move_bodies,
    resize_rods,
    turn_rods_into_bodies,
    vary,
    without_drives,
)
from .motion import DriveMotion, Polynomial, Sine, SmoothStep, Table

__all__ = [
    "Body",
    "Drive",
    "End",
    "Force",
    "Gap",
    "Joint",
    "JointKind",
    "LockedError",
    "Marker",
    "Mechanism",
    "MechanismError",
    "ModelFileError",
    "DriveMotion",
    "Move",
    "Polynomial",
    "Sine",
    "SmoothStep",
    "Spring",
    "Table",
    "Torque",
    "Torsion",
    "UserForce",
    "check_drive_times",
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
    "turn_rods_into_bodies",
    "measure_apart",
    "move_bodies",
    "resize_rods",
    "vary",
    "without_drives",
]
