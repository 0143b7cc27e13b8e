"""ASMT files of a few parts, written for these tests."""

EYE = "1 0 0", "0 1 0", "0 0 1"


def item(name, *inside):
    """A name and what stands one tab deeper: lines or other items."""
    out = [name]
    for x in inside:
        out += [f"\t{line}" for line in (x if isinstance(x, list) else [x])]
    return out


def pose(place, turn=EYE):
    """The lines of a frame."""
    return [*item("Position3D", place), *item("RotationMatrix", *turn)]


def marker(name, place, turn=EYE, point="0 0 0"):
    """A reference point with one marker in it."""
    return item(
        "RefPoint",
        pose(point),
        item("Markers", item("Marker", item("Name", name), pose(place, turn))),
    )


def part(
    name,
    place,
    *markers,
    mass="1.0d",
    moments="0.01 0.02 0.02",
    center="0 0 0",
    turn=EYE,
    velocity="0 0 0",
    spin="0 0 0",
):
    """A part with a mass marker."""
    return item(
        "Part",
        item("Name", name),
        pose(place, turn),
        item("Velocity3D", velocity),
        item("Omega3D", spin),
        item("FeatureOrder"),
        item(
            "PrincipalMassMarker",
            item("Name", "MassMarker"),
            pose(center),
            item("Mass", mass),
            item("MomentOfInertias", moments),
            item("Density", "1.0"),
        ),
        item("RefPoints", *markers),
        item("RefCurves"),
        item("RefSurfaces"),
    )


def joint(kind, name, first, second, *more):
    """A joint between two markers, reported as part/marker."""
    return item(
        kind,
        item("Name", name),
        item("MarkerI", f"/A/{first}"),
        item("MarkerJ", f"/A/{second}"),
        *more,
    )


def motion(kind, name, joint_, formula):
    """A motion of a joint."""
    word = "RotationZ" if kind == "RotationalMotion" else "TranslationZ"
    return item(kind, item("Name", name), item("MotionJoint", f"/A/{joint_}"), item(word, formula))


def assembly(markers, parts, joints, motions=(), forces=(), gravity="0 -9.81 0", tail=()):
    """A whole file as text."""
    lines = [
        "Solver",
        *item(
            "Assembly",
            item("Notes", "(Text string: '')"),
            item("Name", "A"),
            pose("0 0 0"),
            item("Velocity3D", "0 0 0"),
            item("Omega3D", "0 0 0"),
            item("RefPoints", *markers),
            item("RefCurves"),
            item("RefSurfaces"),
            item("Parts", *parts),
            item("KinematicIJs"),
            item(
                "ConstraintSets",
                item("Joints", *joints),
                item("Motions", *motions),
                item("GeneralConstraintSets"),
            ),
            item("ForceTorques", *forces),
            item("ConstantGravity", gravity),
            item(
                "SimulationParameters",
                item("tstart", "0.0"),
                item("tend", "1.0"),
                item("hout", "0.1"),
            ),
        ),
        *tail,
    ]
    return "\n".join(lines) + "\n"


def crank_slider(formula="2.0d*pi*time", slider="TranslationalJoint", **options):
    """Crank 0.3, rod 0.5, slider along x; all closed as authored."""
    side = "0 0 1", "0 1 0", "-1 0 0"
    parts = [
        part(
            "crank",
            "0 0 0",
            marker("o", "0 0 0"),
            marker("p", "0.1 0 0", point="0.2 0 0"),
            center="0.15 0 0",
        ),
        part("rod", "0.3 0 0", marker("p", "0 0 0"), marker("q", "0.5 0 0"), center="0.25 0 0"),
        part("block", "0.8 0 0", marker("q", "0 0 0"), marker("x", "0 0 0", side)),
    ]
    joints = [
        joint("RevoluteJoint", "turn", "O", "crank/o"),
        joint("RevoluteJoint", "knee", "crank/p", "rod/p"),
        joint("RevoluteJoint", "pin", "rod/q", "block/q"),
        joint(slider, "rail", "X", "block/x"),
    ]
    motions = [motion("RotationalMotion", "spin", "turn", formula)] if formula else []
    return assembly(
        [marker("O", "0 0 0"), marker("X", "0 0 0", side)], parts, joints, motions, **options
    )
