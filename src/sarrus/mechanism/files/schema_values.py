"""Values of model files: numbers and vectors with units, names, inertias, motions of drives.

Each type reads what a file contains into SI, and describes it in the JSON schema.
"""

# mypy: disable-error-code="valid-type"
# types of quantities are made by functions, which mypy cannot follow

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from . import units
from .units import Kind, UnitError, UnitQuantity, shorten


def number_schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of a number: plain, or with a unit."""
    unit = f" [{kind.unit}]" if kind.unit else ""
    return {
        "title": f"{kind.name.split(' ', 1)[1]}{unit}",
        "description": units.wanted(kind),
        "anyOf": [{"type": "number"}, {"type": "string", "pattern": units.number_pattern(kind)}],
        "examples": [kind.example],
    }


def _vector_schema(kind: Kind) -> dict[str, Any]:
    unit = f" [{kind.unit}]" if kind.unit else ""
    return {
        "title": f"vector: {kind.name.split(' ', 1)[1]}{unit}",
        "description": f"2 numbers in the plane, 3 in space; {units.wanted_vector(kind)}",
        "anyOf": [
            {"type": "array", "items": number_schema(kind), "minItems": 2, "maxItems": 3},
            {"type": "string", "pattern": units.vector_pattern(kind)},
        ],
    }


def _number(kind: Kind) -> Any:
    """A type: a number of this kind, in SI once read."""
    read = BeforeValidator(lambda given: units.in_si(given, kind))
    return Annotated[float, read, WithJsonSchema(number_schema(kind))]


def _vector(kind: Kind) -> Any:
    """A type: two or three numbers of this kind."""
    read = BeforeValidator(lambda given: units.vector_in_si(given, kind))
    return Annotated[list[float], read, WithJsonSchema(_vector_schema(kind))]


def _vectors(kind: Kind) -> Any:
    """A type: a vector, or one for each body of a joint."""

    def read(given: object) -> list[Any]:
        if isinstance(given, list) and any(is_vector(entry) for entry in given):
            vectors = [units.vector_in_si(entry, kind) for entry in given]
            if len({len(vector) for vector in vectors}) > 1:
                raise UnitError(
                    "the vectors have different lengths; give 2 numbers each, or 3 each"
                )
            return vectors
        return units.vector_in_si(given, kind)

    one = _vector_schema(kind)
    several = {"type": "array", "items": one, "minItems": 2}
    return Annotated[
        Any,
        BeforeValidator(read),
        WithJsonSchema({**one, "anyOf": [*one["anyOf"], several]}),
    ]


def is_vector(given: object) -> bool:
    """Return whether a value of a file is a vector: a list, or one in quotation marks, with a unit."""
    return isinstance(given, list) or (isinstance(given, str) and given.lstrip().startswith("["))


def _number_or_vector(kind: Kind) -> Any:
    """A type: a number in the plane, 3 numbers in space."""

    def read(given: object) -> float | list[float]:
        if is_vector(given):
            return units.vector_in_si(given, kind)
        return units.in_si(given, kind)

    number, vector = number_schema(kind), _vector_schema(kind)
    description = f"a number in the plane, 3 in space; {units.wanted(kind)}"
    both = [*number["anyOf"], *vector["anyOf"]]
    schema = {**number, "description": description, "anyOf": both}
    return Annotated[Any, BeforeValidator(read), WithJsonSchema(schema)]


def _read_name(given: object) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, bool | int | float):
        word = shorten(given).strip("'")
        raise ValueError(f"{word} is not a name; put it into quotes, '{word}', if it is one")
    raise ValueError(f"{shorten(given)} is not a name; give a word")


def _read_inertia(given: object) -> Any:
    kind = units.INERTIA
    if isinstance(given, list) and any(isinstance(row, list) for row in given):
        rows = [units.vector_in_si(row, kind) for row in given]
        if len(rows) != 3 or any(len(row) != 3 for row in rows):
            raise UnitError("an inertia matrix has 3 rows of 3 numbers; give these, or 3 numbers")
        return rows
    if is_vector(given):
        values = units.vector_in_si(given, kind)
        if len(values) != 3:
            raise UnitError(f"{len(values)} numbers; give one in the plane, 3 or 3 x 3 in space")
        return values
    return units.in_si(given, kind)


def _read_motion_number(given: object) -> UnitQuantity:
    return units.parse_for(given, units.ANGLE)


def _read_motion_list(given: object) -> list[UnitQuantity]:
    return units.parse_vector(given, units.ANGLE)


def _read_coefficients(given: object) -> list[UnitQuantity]:
    if not isinstance(given, list) or not given:
        raise UnitError(f"{shorten(given)} is not a list of coefficients; give [c0, c1, ...]")
    return [
        units.parse_for(entry, units.ANGLE, f"entry {i + 1}: ") for i, entry in enumerate(given)
    ]


def nothing_is_empty(given: object) -> object:
    """Return an empty block for one whose entries are all commented out."""
    return {} if given is None else given


# what a drive prescribes is an angle or a length: its joint decides
_MOTION = {
    "title": "angle [rad] or length [m]",
    "description": "an angle for a revolute joint, a length for the others",
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": units.number_pattern(units.ANGLE, units.LENGTH)},
    ],
    "examples": ["30 deg", "10 mm"],
}
_MOTIONS = {
    "title": "angles [rad] or lengths [m]",
    "anyOf": [
        {"type": "array", "items": _MOTION, "minItems": 4},
        {"type": "string", "pattern": r"^\s*\[[^\[\]]*\].*$"},
    ],
}
MotionNumber = Annotated[Any, BeforeValidator(_read_motion_number), WithJsonSchema(_MOTION)]
MotionList = Annotated[Any, BeforeValidator(_read_motion_list), WithJsonSchema(_MOTIONS)]
Coefficients = Annotated[
    Any,
    BeforeValidator(_read_coefficients),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"anyOf": number_schema(units.VELOCITY)["anyOf"]},
            "minItems": 1,
            "title": "coefficients c0, c1, ... of c0 + c1 t + c2 t^2 + ...",
            "examples": [["30 deg", "60 rpm"]],
        }
    ),
]
Name = Annotated[str, BeforeValidator(_read_name)]
NumberOrMasses = _number_or_vector(units.MASS)
Number, Time = _number(units.NUMBER), _number(units.TIME)
Length, Angle, Mass = _number(units.LENGTH), _number(units.ANGLE), _number(units.MASS)
Frequency, Force, Torque = _number(units.FREQUENCY), _number(units.FORCE), _number(units.TORQUE)
Stiffness, Damping = _number(units.STIFFNESS), _number(units.DAMPING)
TorsionalStiffness = _number(units.TORSIONAL_STIFFNESS)
TorsionalDamping = _number(units.TORSIONAL_DAMPING)
RotorInertia = _number(units.INERTIA)
Place, Direction = _vector(units.LENGTH), _vector(units.NUMBER)
Places, Directions = _vectors(units.LENGTH), _vectors(units.NUMBER)
Velocity, Acceleration = _vector(units.VELOCITY), _vector(units.ACCELERATION)
ForceVector = _vector(units.FORCE)
Torques = _number_or_vector(units.TORQUE)
AngularVelocities = _number_or_vector(units.ANGULAR_VELOCITY)
Inertia = Annotated[
    Any,
    BeforeValidator(_read_inertia),
    WithJsonSchema(
        {
            "title": "inertia [kg m^2]",
            "description": "about the centre of mass: a number in the plane; in space 3 numbers or "
            "a 3 x 3 matrix in world directions",
            "anyOf": [
                *number_schema(units.INERTIA)["anyOf"],
                {"type": "string", "pattern": units.vector_pattern(units.INERTIA)},
                {
                    "type": "array",
                    "minItems": 3,
                    "maxItems": 3,
                    "items": {
                        "anyOf": [
                            *number_schema(units.INERTIA)["anyOf"],
                            {
                                "type": "array",
                                "items": number_schema(units.INERTIA),
                                "minItems": 3,
                                "maxItems": 3,
                            },
                        ]
                    },
                },
            ],
            "examples": ["0.1 kg m^2", [0.1, 0.2, 0.3]],
        }
    ),
]
