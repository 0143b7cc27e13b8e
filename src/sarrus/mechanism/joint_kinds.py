"""The kinds of joint: one row per kind, and the methods that add them.

Checks, files, model and pictures know a kind only by its row. The verdict package derives its own description of
each kind (verdict/joint_frames.py) independently, so that each can detect errors of the other.

    shares      what the bodies have in common: "point", "axis", "directions" (all of them: no relative
                rotation), "everything"
    keeps       scalar products that stay constant: "arm" points from the joint's point of the first body to
                that of the second, "axis" and "second axis" are its axes, "across" stands for the directions
                perpendicular to the axis (two in space, one in the plane)
    axis        the bodies that have it: "" none, "common" all bodies, "first" the first body, "each" one axis each
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from .bodies import Body
    from .joints import Joint

Share = Literal["point", "axis", "directions", "everything"]
Factor = Literal["arm", "axis", "second axis", "across"]
Glyph = Literal["pin", "ball", "square", "link", "guide", "slider", "plane"]


@dataclass(frozen=True)
class Row:
    """Description of a kind of joint.

    word: its name for users; says: a sentence for the schema; bodies: how many it joins, 0: two or more;
    in_plane: the planar alternative, "" if it exists in the plane; coordinate: what a drive prescribes, "" if
    nothing; key: the name of its axis in files; glyph: how it is drawn.
    """

    word: str
    says: str
    glyph: Glyph
    shares: tuple[Share, ...] = ()
    keeps: tuple[tuple[Factor, Factor], ...] = ()
    axis: Literal["", "common", "first", "each"] = ""
    bodies: int = 2
    in_plane: str = ""
    coordinate: Literal["", "angle", "travel", "length"] = ""
    key: Literal["axis", "normal"] = "axis"

    @cached_property
    def on_line(self) -> bool:
        """Whether the second body's point stays on a line of the first."""
        return ("across", "arm") in self.keeps

    @cached_property
    def is_slot(self) -> bool:
        """Whether it only keeps a point of the second body on a line of the first, as a pin in a slot does."""
        return self.on_line and not self.shares

    @cached_property
    def on_plane(self) -> bool:
        """Whether the second body's point stays on a plane of the first."""
        return ("axis", "arm") in self.keeps

    @cached_property
    def slides(self) -> bool:
        """Whether the bodies have no common point, but a line or plane on which the point slides."""
        return self.on_line or self.on_plane

    @cached_property
    def is_link(self) -> bool:
        """Whether it has two ends: a point on each body, neither of which is the joint's point."""
        return ("arm", "arm") in self.keeps

    @cached_property
    def is_ball(self) -> bool:
        """Whether the bodies have a common point and rotate freely."""
        return self.shares == ("point",) and not self.keeps

    @cached_property
    def is_rigid(self) -> bool:
        """Whether it joins its bodies rigidly; its point is then only a name."""
        return "everything" in self.shares


class JointKind(Enum):
    """The kinds of joint; the value is its name for users, `row` its description."""

    _value_: str
    row: Row

    def __new__(cls, row: Row) -> JointKind:
        """A member whose value is its name."""
        member = object.__new__(cls)
        member._value_ = row.word
        member.row = row
        return member

    REVOLUTE = Row(
        "revolute",
        "A hinge: a pin in the plane, a hinge about `axis` in space.",
        "pin",
        shares=("point", "axis"),
        axis="common",
        bodies=0,
        coordinate="angle",
    )
    SPHERICAL = Row(
        "spherical",
        "A ball joint, in space.",
        "ball",
        shares=("point",),
        bodies=0,
        in_plane="use revolute()",
    )
    WELD = Row(
        "weld",
        "Bodies joined rigidly as they stand; `at` only names a point.",
        "square",
        shares=("everything",),
        bodies=0,
    )
    PRISMATIC = Row(
        "prismatic",
        "The second body slides along `axis` of the first, without turning.",
        "slider",
        shares=("directions",),
        keeps=(("across", "arm"),),
        axis="first",
        coordinate="travel",
    )
    CYLINDRICAL = Row(
        "cylindrical",
        "The second body slides along and turns about `axis` of the first; in space.",
        "slider",
        shares=("axis",),
        keeps=(("across", "arm"),),
        axis="common",
        in_plane="use prismatic()",
        coordinate="travel",
    )
    UNIVERSAL = Row(
        "universal",
        "A cross: `axis` lies in the first body, `second_axis` in the second; in space.",
        "pin",
        shares=("point",),
        keeps=(("axis", "second axis"),),
        axis="each",
        in_plane="use revolute()",
    )
    PLANAR = Row(
        "planar",
        "The second body slides on a plane of the first, face on face; in space.",
        "plane",
        shares=("axis",),
        keeps=(("axis", "arm"),),
        axis="common",
        in_plane="all bodies share the plane: leave it out",
        key="normal",
    )
    RECTANGULAR = Row(
        "rectangular",
        "The second body slides on a plane of the first without turning, like an XY table; in space.",
        "plane",
        shares=("directions",),
        keeps=(("axis", "arm"),),
        axis="first",
        in_plane="use two prismatic() joints with a body between them",
        key="normal",
    )
    POINT_ON_LINE = Row(
        "point-on-line",
        "A point of the second body stays on a line of the first.",
        "guide",
        keeps=(("across", "arm"),),
        axis="first",
    )
    POINT_ON_PLANE = Row(
        "point-on-plane",
        "A point of the second body stays on a plane of the first; in space.",
        "plane",
        keeps=(("axis", "arm"),),
        axis="first",
        in_plane="use point_on_line()",
        key="normal",
    )
    DISTANCE = Row(
        "distance",
        "A massless link from `start` on the first body to `end` on the second.",
        "link",
        keeps=(("arm", "arm"),),
        coordinate="length",
    )


# position of a joint as a fraction of the length of a rod: the first one joined, or the one named
Along = float | Mapping[str, float] | None


class JointCalls:
    """The methods of a mechanism that add a joint, one per kind.

    Each accepts its position as `at` [m] or as `along`: the fraction of the length of a rod from its first end, as
    in 0.8 for the first rod that is joined, or {"beam": 0.8}.
    """

    def _join(
        self,
        kind: JointKind,
        name: str,
        bodies: Sequence[Body | str],
        at: ArrayLike | None,
        axis: ArrayLike | None = None,
        second_axis: ArrayLike | None = None,
        along: Along = None,
    ) -> Joint:
        raise NotImplementedError

    def revolute(
        self,
        name: str,
        *bodies: Body | str,
        at: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        along: Along = None,
    ) -> Joint:
        """Join bodies by a hinge: a pin in the plane, a hinge about `axis` in space.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        *bodies : Body or str
            Two or more bodies.
        at : array_like, optional
            Its position at the start [m].
        axis : array_like, optional
            Direction of the hinge, of any length; spatial mechanisms only.
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.REVOLUTE, name, bodies, at, axis, along=along)

    def spherical(
        self, name: str, *bodies: Body | str, at: ArrayLike | None = None, along: Along = None
    ) -> Joint:
        """Join bodies of a spatial mechanism by a ball joint.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        *bodies : Body or str
            Two or more bodies.
        at : array_like, optional
            Its position at the start [m].
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.SPHERICAL, name, bodies, at, along=along)

    def weld(
        self, name: str, *bodies: Body | str, at: ArrayLike | None = None, along: Along = None
    ) -> Joint:
        """Join bodies rigidly in their initial configuration; `at` only names a point.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        *bodies : Body or str
            Two or more bodies.
        at : array_like, optional
            Its position at the start [m].
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.WELD, name, bodies, at, along=along)

    def prismatic(
        self,
        name: str,
        first: Body | str,
        second: Body | str,
        *,
        at: ArrayLike | None = None,
        axis: ArrayLike,
        along: Along = None,
    ) -> Joint:
        """Let the second body slide along `axis` of the first, without turning.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        first, second : Body or str
            The two bodies.
        at : array_like, optional
            Its position at the start [m].
        axis : array_like
            Sliding direction, of any length.
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.PRISMATIC, name, (first, second), at, axis, along=along)

    def cylindrical(
        self,
        name: str,
        first: Body | str,
        second: Body | str,
        *,
        at: ArrayLike | None = None,
        axis: ArrayLike,
        along: Along = None,
    ) -> Joint:
        """Let the second body slide along and turn about `axis` of the first; in space.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        first, second : Body or str
            The two bodies.
        at : array_like, optional
            Its position at the start [m].
        axis : array_like
            Direction of the axis, of any length.
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.CYLINDRICAL, name, (first, second), at, axis, along=along)

    def universal(
        self,
        name: str,
        first: Body | str,
        second: Body | str,
        *,
        at: ArrayLike | None = None,
        axis: ArrayLike,
        second_axis: ArrayLike,
        along: Along = None,
    ) -> Joint:
        """Join two bodies by a cross: `axis` lies in the first, `second_axis` in the second; in space.

        The angle between the axes stays as it is at the start; usually it is a right angle.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        first, second : Body or str
            The two bodies.
        at : array_like, optional
            Its position at the start [m].
        axis, second_axis : array_like
            Directions of the axes in the first and second body, of any length.
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.UNIVERSAL, name, (first, second), at, axis, second_axis, along)

    def planar(
        self,
        name: str,
        first: Body | str,
        second: Body | str,
        *,
        at: ArrayLike | None = None,
        normal: ArrayLike,
        along: Along = None,
    ) -> Joint:
        """Let the second body slide on a plane of the first with this normal, face on face; in space.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        first, second : Body or str
            The two bodies.
        at : array_like, optional
            Its position at the start [m].
        normal : array_like
            Normal of the plane, of any length.
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.PLANAR, name, (first, second), at, normal, along=along)

    def rectangular(
        self,
        name: str,
        first: Body | str,
        second: Body | str,
        *,
        at: ArrayLike | None = None,
        normal: ArrayLike,
        along: Along = None,
    ) -> Joint:
        """Let the second body slide on a plane of the first without turning: an XY table; in space.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        first, second : Body or str
            The two bodies.
        at : array_like, optional
            Its position at the start [m].
        normal : array_like
            Normal of the plane, of any length.
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.RECTANGULAR, name, (first, second), at, normal, along=along)

    def point_on_line(
        self,
        name: str,
        first: Body | str,
        second: Body | str,
        *,
        at: ArrayLike | None = None,
        axis: ArrayLike,
        along: Along = None,
    ) -> Joint:
        """Keep a point of the second body on a line of the first, along `axis` through `at`.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        first, second : Body or str
            The two bodies.
        at : array_like, optional
            Position of the point at the start [m].
        axis : array_like
            Direction of the line, of any length.
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.POINT_ON_LINE, name, (first, second), at, axis, along=along)

    def point_on_plane(
        self,
        name: str,
        first: Body | str,
        second: Body | str,
        *,
        at: ArrayLike | None = None,
        normal: ArrayLike,
        along: Along = None,
    ) -> Joint:
        """Keep a point of the second body on a plane of the first through `at`; in space.

        Parameters
        ----------
        name : str
            Name of the joint and of its point.
        first, second : Body or str
            The two bodies.
        at : array_like, optional
            Position of the point at the start [m].
        normal : array_like
            Normal of the plane, of any length.
        along : float or mapping, optional
            Instead of `at`: the fraction of the length of the first rod, or {"beam": 0.8}.
        """
        return self._join(JointKind.POINT_ON_PLANE, name, (first, second), at, normal, along=along)

    def distance(
        self, name: str, first: Body | str, second: Body | str, *, start: ArrayLike, end: ArrayLike
    ) -> Joint:
        """Join two bodies by a massless link from `start` on the first to `end` on the second.

        Parameters
        ----------
        name : str
            Name of the joint.
        first, second : Body or str
            The two bodies.
        start, end : array_like
            Ends of the link on the first and second body at the start [m].
        """
        return self._link(JointKind.DISTANCE, name, (first, second), start, end)

    def _link(
        self,
        kind: JointKind,
        name: str,
        bodies: Sequence[Body | str],
        start: ArrayLike,
        end: ArrayLike,
    ) -> Joint:
        raise NotImplementedError
