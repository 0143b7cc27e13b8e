"""Rectangular Bricard (IFToMM) and Bricard A04 (MBS Benchmark): one mechanism, two sets of numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from ..arrays import Floats
from ..mechanism import Mechanism
from .problem import SECTION, Columns, Figure, Limits, Panel, Problem, RightBranch, with_options
from .references.bricard import bricard_reference

# Joint coordinates in the initial configuration and joint axes (seed table 1).
PLACES = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
AXES = ((0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))

# Samples of the path of P2, 2 mm apart: the curve deviates from a chord by at most 1e-6 m.
SAMPLES = 4096

COLUMNS = ("t", "x", "y", "z", "energy", "position", "velocity")
ENERGY_FIGURE = Figure(
    "figure-3-energy-and-violations",
    "Mechanical energy and constraint violation",
    (
        Panel("energy drift [J]", ("energy",)),
        Panel("position [m]", ("position",), log=True),
        Panel("velocity [m/s]", ("velocity",), log=True),
    ),
)


def make_mechanism(section: float, name: str, first: int) -> Mechanism:
    """Make five rods of 1 m and 1 kg between six hinges; joints are numbered from `first`."""
    m = Mechanism(name, gravity=(0.0, -9.81, 0.0))
    rods = [
        m.rod(f"rod {i + 1}", PLACES[i], PLACES[i + 1], mass=1, section=section) for i in range(5)
    ]
    chain = [m.ground, *rods, m.ground]
    for i, (place, axis) in enumerate(zip(PLACES, AXES, strict=True)):
        m.revolute(f"P{i + first}", chain[i], chain[i + 1], at=place, axis=axis)
    return m


@with_options(replace(SECTION, default=0.1))
def make_rectangular_bricard(section: float) -> Problem:
    """Make the rectangular Bricard mechanism of the IFToMM library."""
    return Problem(
        id="rectangular-bricard",
        title="Rectangular Bricard mechanism",
        library="IFToMM",
        source="IFToMM benchmark library",
        note="6 hinges; mobility 0 by the formula, actually 1; redundant in every configuration",
        version=1,
        duration=10.0,
        output_step=0.01,
        limits=Limits(energy_drift=1e-3, path=0.05),
        observed="P2",
        columns=COLUMNS,
        figures=(
            Figure("figure-2-p2", "Coordinates of P2", (Panel("P2 [m]", ("x", "y", "z")),)),
            ENERGY_FIGURE,
        ),
        build=lambda: make_mechanism(section, "rectangular Bricard", 0),
        exact=lambda times: bricard_reference(times, section),
        branch=make_branch(),
    )


@with_options(SECTION)
def make_a04_bricard(section: float) -> Problem:
    """Make problem A04 of the MBS Benchmark library: thin rods, 600 s; joints are numbered from 1."""
    return Problem(
        id="a04-bricard",
        title="Bricard's mechanism, A04",
        library="MBS Benchmark A04",
        source="MBS Benchmark library, problem A04; Gonzalez, Dopico, Lugris, Cuadrado 2006",
        note="thin rods: no inertia about their axes; 120 periods",
        version=1,
        duration=600.0,
        output_step=0.2,
        limits=Limits(end_error=1e-5, path=0.05),
        observed="P3",
        columns=COLUMNS,
        figures=(
            Figure(
                "figure-2-p3-displacement",
                "Displacement of P3 (first 10 s)",
                (Panel("x [m]", ("x",)), Panel("y [m]", ("y",)), Panel("z [m]", ("z",))),
                until=10.0,
            ),
            ENERGY_FIGURE,
        ),
        build=lambda: make_mechanism(section, "A04 Bricard", 1),
        exact=lambda times: bricard_reference(times, section),
        branch=make_branch(),
    )


def make_branch() -> RightBranch:
    """Return the closed path of P2, for rods of any section.

    P2 = (cos(a), -sqrt(1 + 2 S), -S) / (1 + S) with S = sin(a) lies on both of

        y^2 + z^2 = 1,    x^2 = 1 + 2 z

    a smooth closed curve, here with x = sqrt(3) sin(h): z = (3 sin(h)^2 - 1) / 2,
    y = -sqrt(3/2) cos(h) sqrt(1 + z). The linkage has no other branch, so a point off the curve belongs to a
    mechanism whose hinges have opened. The columns contain no velocity, so the energy cannot be computed.
    """
    return RightBranch(
        name="path of the Bricard motion",
        path="path of the Bricard motion",
        distance=path_distance,
        relatives=lambda columns: [{"section": section} for section in (0.0, 0.1)],
        needs=("x", "y", "z"),
    )


def path_distance(columns: Columns) -> Floats:
    """Return the distance of each row from the path [m]: nearest sample, then normal to its tangent."""
    points = np.column_stack([columns["x"], columns["y"], columns["z"]])
    # The tree accepts finite numbers only; rows that are not finite are infinitely far.
    good = np.all(np.isfinite(points), axis=1)
    path = path_points(SAMPLES)
    tangents = np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1)[:, None]
    nearest = scipy.spatial.cKDTree(path).query(points[good])[1]
    away = points[good] - path[nearest]
    along = np.sum(away * tangents[nearest], axis=1)
    distance = np.full(len(points), np.inf)
    distance[good] = np.linalg.norm(away - along[:, None] * tangents[nearest], axis=1)
    return distance


def path_points(count: int) -> Floats:
    """Return points once around the path, shape (count, 3)."""
    h = 2.0 * np.pi * np.arange(count) / count
    sin, cos = np.sin(h), np.cos(h)
    z = 1.5 * sin**2 - 0.5
    return np.column_stack([np.sqrt(3.0) * sin, -np.sqrt(1.5) * cos * np.sqrt(1.0 + z), z])
