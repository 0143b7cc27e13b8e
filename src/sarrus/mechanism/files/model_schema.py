"""The format of a model file as pydantic models: what is checked, and what `sarrus schema` prints.

Every quantity is read into SI here; names, joints and geometry are checked later on the whole mechanism.
"""

# mypy: disable-error-code="valid-type"
# types of quantities are made by functions, which mypy cannot follow

from __future__ import annotations

import functools
import operator
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    Tag,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ..joint_kinds import JointKind
from ..mechanism import Mechanism
from . import units
from .schema_values import (
    Acceleration,
    Angle,
    AngularVelocities,
    Coefficients,
    Damping,
    Direction,
    Directions,
    Force,
    ForceVector,
    Frequency,
    Inertia,
    Length,
    Mass,
    MotionList,
    MotionNumber,
    Name,
    Number,
    NumberOrMasses,
    Place,
    Places,
    RotorInertia,
    Stiffness,
    Time,
    Torque,
    Torques,
    TorsionalDamping,
    TorsionalStiffness,
    Velocity,
    nothing_is_empty,
    number_schema,
)
from .units import UnitQuantity

VERSION = 1
SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


class Section(BaseModel):
    """A mapping of known keys."""

    model_config = ConfigDict(extra="forbid", populate_by_name=False)


class RodEntry(Section):
    """A uniform straight rod: `{rod: [[0, 0], [0, 1]], mass: 1 kg}`."""

    rod: Annotated[list[Place], Field(min_length=2, max_length=2)] = Field(
        description="its two ends", examples=[[[0, 0], [0, 1]]]
    )
    mass: Mass = Field(description="its mass", examples=["1 kg"])
    section: Length = Field(
        default=0.0, description="side of its square cross section; 0: a thin rod"
    )
    length: Length | None = Field(
        default=None,
        description="its length, where its ends are rough; with assemble: true",
        examples=["300 mm"],
    )


class BodyEntry(Section):
    """A rigid body: `{mass: 2 kg, center: [0.5, 1], inertia: 0.1}`."""

    mass: Mass = Field(description="its mass", examples=["2 kg"])
    center: Place = Field(description="centre of mass at the start", examples=[[0.5, 1]])
    inertia: Inertia | None = Field(default=None, description="left out: a point mass")


class PlateEntry(Section):
    """A uniform flat plate, in the plane: `{plate: [[0, 0], [1, 0], [0.5, 0.4]], mass: 1 kg}`."""

    plate: Annotated[list[Place], Field(min_length=3)] = Field(
        description="its corners", examples=[[[0, 0], [1, 0], [0.5, 0.4]]]
    )
    mass: Mass = Field(description="its mass", examples=["1 kg"])


Share = Annotated[
    Any,
    WithJsonSchema(
        {
            "title": "share of the length of a rod",
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {
                    "type": "object",
                    "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1},
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            ],
        }
    ),
]


class JointEntry(Section):
    """A joint of bodies at one place; or at one place a body, which `assemble` brings together."""

    at: Places | None = Field(default=None, description="where it is", examples=[[0, 0]])
    along: Share | None = Field(
        default=None,
        description="instead of at: its share of the length of the first rod, or of the one named",
        examples=[0.8, {"beam": 0.8}],
    )

    @model_validator(mode="before")
    @classmethod
    def _has_place(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.keys() & {"at", "along", "weld"}:
            return given
        # an unknown key is reported by itself, and may be a misspelt `at`
        if all(key in cls.model_fields for key in given):
            raise PydanticCustomError("no_place", "no place")
        return given

    @model_validator(mode="after")
    def _counts(self) -> JointEntry:
        bodies = len(joint_bodies(self))
        for key, value in self:
            each = key in ("at", "axis", "normal") and value and isinstance(value[0], list)
            if each and len(value) != bodies:
                raise ValueError(
                    f"{key} has {len(value)} entries for {bodies} bodies; give one for all, or "
                    "one for each body"
                )
        return self


Bodies = Annotated[list[Name], Field(min_length=2)]
TwoBodies = Annotated[list[Name], Field(min_length=2, max_length=2)]
_axis: Any = Field(description="its direction", examples=[[1, 0]])
_normal: Any = Field(description="normal of the plane", examples=[[0, 0, 1]])


def _joint_entry(kind: JointKind) -> type[Section]:
    """The entry of a kind of joint, from its row: bodies under the kind's word, place, axes."""
    row = kind.row
    name = attribute(kind)
    bodies: Any = Field(
        alias=row.word if row.word != name else None,
        description="the bodies it joins",
        examples=[[Mechanism.GROUND, "crank"]],
    )
    fields: dict[str, Any] = {name: (TwoBodies if row.bodies == 2 else Bodies, bodies)}
    if row.is_rigid:
        at: Any = Field(default=None, description="a point to name", examples=[[0, 0]])
        fields["at"] = (Places | None, at)
    axis = _normal if row.key == "normal" else _axis
    if row.axis == "common" and not row.in_plane:
        only: Any = Field(default=None, description="only in space", examples=[[0, 0, 1]])
        fields[row.key] = (Directions | None, only)
    elif row.axis:
        fields[row.key] = (Directions if row.axis == "common" else Direction, axis)
    if row.axis == "each":
        fields[f"second_{row.key}"] = (Direction, axis)
    title = "".join(part.capitalize() for part in row.word.split("-")) + "Entry"
    if row.is_link:
        fields["start"] = (Place, Field(description="its end on the first body", examples=[[0, 0]]))
        fields["end"] = (Place, Field(description="its end on the second body", examples=[[1, 0]]))
    base = Section if row.is_link else JointEntry
    return create_model(title, __base__=base, __doc__=row.says, __module__=__name__, **fields)


def attribute(kind: JointKind) -> str:
    """The word of a kind as Python spells it: the call that makes it, the field of its entry."""
    return kind.value.replace("-", "_")


JOINTS: dict[str, type[Section]] = {kind.value: _joint_entry(kind) for kind in JointKind}
BODIES: dict[str, type[Section]] = {"rod": RodEntry, "plate": PlateEntry, "body": BodyEntry}


def joint_kind(entry: Section) -> JointKind:
    """The kind of a joint's entry."""
    return next(kind for kind in JointKind if type(entry) is JOINTS[kind.value])


def joint_bodies(entry: Section) -> list[str]:
    """The names of its bodies."""
    return list(getattr(entry, attribute(joint_kind(entry))))


class PointEntry(Section):
    """A named point of a body."""

    body: Name = Field(description="the body it belongs to", examples=["coupler"])
    at: Place = Field(description="where it is at the start", examples=[[0.5, 1]])


class ForceEntry(Section):
    """A constant force at a point of a body."""

    body: Name = Field(description="the body it acts on", examples=["coupler"])
    at: Place = Field(description="where it acts", examples=[[0.5, 1]])
    vector: ForceVector = Field(description="the force", examples=["[0, -5] N"])
    fixed_in: Literal["world", "body"] = Field(
        default="world", description="world: keeps its direction; body: turns with the body"
    )


class TorqueEntry(Section):
    """A constant torque on a body: a number in the plane, 3 numbers in space."""

    body: Name = Field(description="the body it acts on", examples=["crank"])
    vector: Torques = Field(description="the torque", examples=["3 N m"])
    fixed_in: Literal["world", "body"] = Field(
        default="world", description="world: keeps its direction; body: turns with the body"
    )


class SpringEntry(Section):
    """A spring and damper; it pulls with stiffness (length - free_length) + damping (rate) + preload."""

    bodies: TwoBodies = Field(description="the bodies it joins", examples=[["ground", "crank"]])
    start: Place = Field(description="its end on the first body", examples=[[0, 0]])
    end: Place = Field(description="its end on the second body", examples=[[1, 0]])
    stiffness: Stiffness = Field(default=0.0, examples=["5 N/mm"])
    damping: Damping = Field(default=0.0, examples=["2 N s/m"])
    free_length: Length | None = Field(
        default=None, description="left out: its length at the start"
    )
    preload: Force = Field(default=0.0, description="pull at the free length")


class TorsionEntry(Section):
    """A torsional spring and damper at a revolute joint; on its second body acts
    torque - stiffness (angle - free_angle) - damping (rate of angle), the angle 0 at the start.
    """

    joint: Name = Field(description="a revolute joint", examples=["A0"])
    stiffness: TorsionalStiffness = Field(default=0.0, examples=["3 N m/rad"])
    damping: TorsionalDamping = Field(default=0.0, examples=["0.1 N m s/rad"])
    free_angle: Angle = Field(default=0.0, description="where the spring is at rest")
    torque: Torque = Field(default=0.0, description="a constant torque")


class BallDamperEntry(Section):
    """A rotational damper at a spherical joint; on its second body acts -damping (relative angular velocity)."""

    joint: Name = Field(description="a spherical joint", examples=["ball"])
    damping: TorsionalDamping = Field(default=0.0, examples=["0.1 N m s/rad"])


class RotorEntry(Section):
    """Inertia on the relative coordinate of a joint, as seen there: a geared rotor, a motor's armature."""

    joint: Name = Field(description="a hinge, ball or slider", examples=["A0"])
    inertia: RotorInertia = Field(
        default=0.0, description="at a hinge or ball", examples=["0.01 kg m^2"]
    )
    mass: Mass = Field(default=0.0, description="at a slider")


class CouplingEntry(Section):
    """Two hinges or two sliders that move in proportion: gears, belts, linked sliders."""

    joint: Name = Field(description="a hinge or slider", examples=["A0"])
    other: Name = Field(description="another of the same kind", examples=["B0"])
    ratio: Number = Field(
        default=1.0,
        description="angle or travel of joint over that of other; of angles a ratio of whole numbers",
    )


class ActionEntry(Section):
    """What an event does; one of these."""

    release: Name | None = Field(
        default=None, description="a drive, or a joint that was locked", examples=["motor"]
    )
    engage: Name | None = Field(default=None, description="a drive", examples=["motor"])
    lock: Name | None = Field(default=None, description="a joint", examples=["B0"])
    switch_off: Name | None = Field(
        default=None, description="a force, torque, spring or torsion", examples=["s1"]
    )
    switch_on: Name | None = Field(default=None, description="the same", examples=["s1"])
    set: dict[str, float | str | list[float | str]] | None = Field(
        default=None,
        description="other numbers of forces, by path",
        examples=[{"springs.s1.stiffness": "2 N/mm"}],
    )


class EventEntry(Section):
    """What every run looks for: a quantity reaches a value, or has an extreme."""

    angle: Name | list[Name] | None = Field(
        default=None,
        description="of a joint or planar body; or a joint and two of its bodies",
        examples=["A0"],
    )
    travel: Name | None = Field(default=None, description="of a sliding joint", examples=["guide"])
    distance: Name | list[Name] | None = Field(
        default=None,
        description="of two points; or the length of a spring or link",
        examples=[["A", "C"]],
    )
    coordinate: Name | None = Field(
        default=None, description="of a point, or its velocity", examples=["B0.x"]
    )
    speed: Name | None = Field(default=None, description="of a point", examples=["B0"])
    force: Name | None = Field(default=None, description="of a spring or torsion", examples=["s1"])
    drive: Name | None = Field(
        default=None, description="force or torque of a drive", examples=["motor"]
    )
    energy: Literal["kinetic", "potential", "total"] | None = Field(
        default=None, description="which"
    )
    quantity: Name | dict[str, Number] | None = Field(
        default=None,
        description="any quantity of a result, or a sum of such with factors",
        examples=[{"B0.x": 1, "C.x": -1}],
    )
    equals: float | str | None = Field(
        default=None, description="the value that is reached", examples=["30 deg"]
    )
    rising: StrictBool = Field(default=False, description="only where it rises through the value")
    falling: StrictBool = Field(default=False, description="only where it falls through the value")
    extreme: StrictBool | Literal["any", "maximum", "minimum"] = Field(
        default=False, description="extremes instead of a value"
    )
    terminal: StrictBool = Field(default=False, description="whether the run ends there")
    count: int | None = Field(
        default=None, description="the occurrence that ends the run, or the last that is recorded"
    )
    then: list[ActionEntry] = Field(
        default_factory=list, description="what it does to the mechanism, in this order"
    )


class LimitEntry(Section):
    """Stops of a joint: its angle or travel stays between them."""

    joint: Name = Field(description="a hinge or slider", examples=["A0"])
    lower: float | str | None = Field(
        default=None, description="the lower stop", examples=["-30 deg"]
    )
    upper: float | str | None = Field(
        default=None, description="the upper stop", examples=["45 deg"]
    )
    restitution: Number = Field(
        default=0.0, description="speed after an impact over the speed before it, 0 to 1"
    )


class SineEntry(Section):
    """offset + amplitude sin(2 pi frequency t + phase)."""

    amplitude: MotionNumber = Field(examples=["30 deg"])
    frequency: Frequency = Field(examples=["2 Hz"])
    phase: Angle = Field(default=0.0)
    offset: MotionNumber = Field(
        default=UnitQuantity(0.0, None, "0"), json_schema_extra={"default": 0.0}
    )


class StepEntry(Section):
    """From one value to another, smoothly between two times."""

    first: MotionNumber = Field(alias="from", description="value before", examples=[0])
    last: MotionNumber = Field(alias="to", description="value after", examples=["10 mm"])
    begin: Time = Field(description="when it leaves the first value", examples=["1 s"])
    end: Time = Field(description="when it reaches the last value", examples=["2 s"])


class TableEntry(Section):
    """Values at times, joined by a cubic spline."""

    times: Annotated[
        list[float],
        BeforeValidator(lambda given: units.vector_in_si(given, units.TIME)),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "array", "items": number_schema(units.TIME), "minItems": 4},
                    {"type": "string", "pattern": units.vector_pattern(units.TIME)},
                ]
            }
        ),
    ] = Field(description="increasing, from 0 or before", examples=[[0, 1, 2, 3]])
    values: MotionList = Field(
        description="one a time", examples=[["0 mm", "1 mm", "4 mm", "9 mm"]]
    )


class DriveEntry(Section):
    """The coordinate of a joint as a function of time."""

    joint: Name = Field(description="the joint it moves", examples=["A0"])


class PolynomialDrive(DriveEntry):
    """c0 + c1 t + c2 t^2 + ...: `{joint: A0, polynomial: [0, 60 rpm]}`."""

    polynomial: Coefficients = Field(description="c0, c1, ...", examples=[[0, "60 rpm"]])


class SineDrive(DriveEntry):
    """A sine of time."""

    sine: SineEntry


class StepDrive(DriveEntry):
    """A smooth step."""

    step: StepEntry


class TableDrive(DriveEntry):
    """A table with a cubic spline."""

    table: TableEntry


DRIVES: dict[str, type[Section]] = {
    "polynomial": PolynomialDrive,
    "sine": SineDrive,
    "step": StepDrive,
    "table": TableDrive,
}


class SpotEntry(Section):
    """A point of a link, by distances from its joints or in its frame."""

    body: Name | None = Field(default=None, description="the link", examples=["coupler"])
    lengths: Annotated[list[Length], Field(min_length=2, max_length=2)] | None = Field(
        default=None,
        description="distances from the outer end and from the inner joint of the link",
        examples=[["200 mm", "300 mm"]],
    )
    side: Literal["left", "right"] | None = Field(
        default=None, description="of the line from the outer end to the inner joint"
    )
    along: Length | None = Field(
        default=None, description="how far along the link", examples=["100 mm"]
    )
    across: Length | None = Field(
        default=None, description="how far to its left", examples=["50 mm"]
    )


Spots = dict[str, SpotEntry]
_points: Any = Field(
    default_factory=dict, description="named points of the links", examples=[{"P": {"along": 0.1}}]
)
_masses: Any = Field(default=1.0, description="of the links: one number, or one for each")


class CrankEntry(Section):
    """A rod that turns about a joint or point; its other end is a point with the name of the entry."""

    crank: Name = Field(description="name of the rod", examples=["crank"])
    start: Name = Field(description="the joint or point it turns about", examples=["A"])
    length: Length = Field(examples=["100 mm"])
    angle: Angle = Field(description="from the x axis", examples=["30 deg"])
    mass: Mass = Field(default=1.0, examples=["1 kg"])
    points: Spots = _points


class DyadEntry(Section):
    """Two links that meet at a joint with the name of the entry, joined to what there is."""

    dyad: TwoBodies = Field(description="names of the links", examples=[["coupler", "rocker"]])
    ends: TwoBodies = Field(description="joints or points they begin at", examples=[["B", "D"]])
    lengths: Annotated[list[Length], Field(min_length=1, max_length=2)] = Field(
        description="of the links", examples=[["300 mm", "200 mm"]]
    )
    mass: NumberOrMasses = _masses
    side: Literal["left", "right", "ahead", "behind"] | None = Field(default=None)
    kind: Literal["RR", "RP", "PR", "RPR"] = Field(
        default="RR", description="joints at the ends: R a pin, P a slider"
    )
    axis: Direction | None = Field(default=None, description="of the slider", examples=[[1, 0]])
    points: Spots = _points


class FourBarLengths(Section):
    """Lengths of a four-bar."""

    ground: Length = Field(examples=["400 mm"])
    crank: Length = Field(examples=["100 mm"])
    coupler: Length = Field(examples=["350 mm"])
    rocker: Length = Field(examples=["300 mm"])
    angle: Angle = Field(description="of the crank from the ground line", examples=["60 deg"])
    branch: Literal["open", "crossed"] = Field(default="open")
    mass: NumberOrMasses = _masses
    at: Place = Field(default=[0.0, 0.0], description="where the crank turns", examples=[[0, 0]])
    ground_angle: Angle = Field(default=0.0, description="of the ground line from the x axis")
    points: Spots = _points
    prefix: str = Field(default="", description="of all names")


class SliderCrankLengths(Section):
    """Lengths of a slider-crank."""

    crank: Length = Field(examples=["50 mm"])
    rod: Length = Field(examples=["150 mm"])
    angle: Angle = Field(description="of the crank from the slide", examples=["60 deg"])
    offset: Length = Field(default=0.0, description="of the slide, to the left of the crank's pin")
    branch: Literal["ahead", "behind"] = Field(default="ahead")
    mass: NumberOrMasses = _masses
    at: Place = Field(default=[0.0, 0.0], description="where the crank turns", examples=[[0, 0]])
    slide_angle: Angle = Field(default=0.0, description="of the slide from the x axis")
    points: Spots = _points
    prefix: str = Field(default="", description="of all names")


class FourBarEntry(Section):
    """A four-bar by its lengths: bodies crank, coupler, rocker, joints A, B, C, D."""

    four_bar: FourBarLengths = Field(alias="four-bar", description="its lengths")


class SliderCrankEntry(Section):
    """A slider-crank by its lengths: bodies crank, rod, slider, joints O, A, B, guide."""

    slider_crank: SliderCrankLengths = Field(alias="slider-crank", description="its lengths")


BUILT: dict[str, type[Section]] = {
    "crank": CrankEntry,
    "dyad": DyadEntry,
    "four-bar": FourBarEntry,
    "slider-crank": SliderCrankEntry,
}


class SimulateEntry(Section):
    """Defaults of `sarrus simulate`."""

    duration: Time | None = Field(default=None, description="simulated time", examples=["10 s"])
    output_step: Time | None = Field(default=None, description="time between outputs")
    tolerance: Number | None = Field(
        default=None, description="error aimed at, relative to the mechanism's size"
    )
    method: Name | None = Field(default=None, description="the method", examples=["series"])
    step: Time | None = Field(default=None, description="step of a method with a fixed step")


def _first_of(known: dict[str, type[Section]], otherwise: str | None = None) -> Any:
    def tag(given: object) -> str | None:
        if not isinstance(given, dict):
            return otherwise
        return next((word for word in known if word in given), otherwise)

    return Discriminator(tag)


# the first key of `known` in an entry says what it is
Body = Annotated[
    Annotated[RodEntry, Tag("rod")]
    | Annotated[PlateEntry, Tag("plate")]
    | Annotated[BodyEntry, Tag("body")],
    _first_of({"rod": RodEntry, "plate": PlateEntry}, "body"),
]
Built = Annotated[
    Annotated[CrankEntry, Tag("crank")]
    | Annotated[DyadEntry, Tag("dyad")]
    | Annotated[FourBarEntry, Tag("four-bar")]
    | Annotated[SliderCrankEntry, Tag("slider-crank")],
    _first_of(BUILT),
]
Joint = Annotated[
    functools.reduce(operator.or_, (Annotated[m, Tag(w)] for w, m in JOINTS.items())),
    _first_of(JOINTS),
]
Drive = Annotated[
    Annotated[PolynomialDrive, Tag("polynomial")]
    | Annotated[SineDrive, Tag("sine")]
    | Annotated[StepDrive, Tag("step")]
    | Annotated[TableDrive, Tag("table")],
    _first_of(DRIVES),
]
_read_block = BeforeValidator(nothing_is_empty)
_named: Any = Field(default_factory=dict)


class ModelFile(Section):
    """A mechanism of Sarrus. Plain numbers are SI; a unit may follow a number: 10 mm, 30 deg."""

    model_config = ConfigDict(extra="forbid", title="Sarrus model file")
    sarrus: Literal[1] = Field(description="version of the format", examples=[1])
    name: Name = Field(default="mechanism", description="name of the mechanism")
    gravity: Acceleration = Field(
        description="2 numbers for a planar, 3 for a spatial mechanism", examples=[[0, -9.81]]
    )
    bodies: Annotated[dict[str, Body], _read_block] = Field(
        description="rods and other bodies by name", examples=[{"crank": {"mass": "1 kg"}}]
    )
    joints: Annotated[dict[str, Joint], _read_block] = _named
    build: Annotated[dict[str, Built], _read_block] = Field(
        default_factory=dict,
        description="cranks, dyads, four-bars and slider-cranks from lengths, in this order",
    )
    points: Annotated[dict[str, PointEntry], _read_block] = _named
    forces: Annotated[dict[str, ForceEntry], _read_block] = _named
    torques: Annotated[dict[str, TorqueEntry], _read_block] = _named
    springs: Annotated[dict[str, SpringEntry], _read_block] = _named
    torsions: Annotated[dict[str, TorsionEntry], _read_block] = _named
    ball_dampers: Annotated[dict[str, BallDamperEntry], _read_block] = _named
    rotors: Annotated[dict[str, RotorEntry], _read_block] = _named
    couplings: Annotated[dict[str, CouplingEntry], _read_block] = _named
    drives: Annotated[dict[str, Drive], _read_block] = _named
    limits: Annotated[dict[str, LimitEntry], _read_block] = _named
    events: Annotated[dict[str, EventEntry], _read_block] = _named
    velocities: Annotated[dict[str, Velocity], _read_block] = Field(
        default_factory=dict, description="start velocities of joints and points by name"
    )
    angular_velocities: Annotated[dict[str, AngularVelocities], _read_block] = Field(
        default_factory=dict, description="start angular velocities of bodies by name"
    )
    assemble: StrictBool = Field(
        default=False, description="true: close the loops before the simulation"
    )
    exact: StrictBool = Field(
        default=False, description="true: reject places that are a little off their rods"
    )
    simulate: SimulateEntry = Field(default_factory=SimulateEntry)


# blocks of entries by name, which a file may leave empty
BLOCKS = tuple(
    name
    for name in ModelFile.model_fields
    if name not in ("sarrus", "name", "gravity", "assemble", "exact", "simulate")
)


def make_schema() -> dict[str, Any]:
    """The JSON Schema of a model file, for editors and other programs."""
    schema = ModelFile.model_json_schema()
    for name in BLOCKS:
        schema["properties"][name]["type"] = ["object", "null"]
    for kind, entry in ((kind, JOINTS[kind.value].__name__) for kind in JointKind):
        if not (kind.row.is_link or kind.row.is_rigid):
            one_of = [{"required": ["at"]}, {"required": ["along"]}]
            schema["$defs"][entry]["anyOf"] = one_of
    # bodies may all be built from lengths
    schema["required"].remove("bodies")
    schema["anyOf"] = [{"required": ["bodies"]}, {"required": ["build"]}]
    return {"$schema": SCHEMA_ID, **schema}


# blocks whose entries are all alike: point, force, torque, ... are the calls that make them
ALIKE: dict[str, type[Section]] = {
    name: model
    for name in BLOCKS
    for model in get_args(ModelFile.model_fields[name].annotation)[1:]
    if isinstance(model, type) and issubclass(model, Section)
}


def entry_model(block: str, tag: str | None) -> type[Section] | None:
    """The model of an entry of a block; tag: which one, where there are several."""
    several = {"bodies": BODIES, "joints": JOINTS, "build": BUILT, "drives": DRIVES}
    return several[block].get(tag or "") if block in several else ALIKE.get(block)


def known_keys(model: type[Section]) -> list[str]:
    """The keys of an entry, as a file spells them."""
    return [field.alias or name for name, field in model.model_fields.items()]
