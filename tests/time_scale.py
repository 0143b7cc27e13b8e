"""A mechanism in slow or fast motion: the same places at times longer or shorter by a factor."""

from dataclasses import replace

from sarrus import Mechanism
from sarrus.mechanism import Polynomial, Sine, SmoothStep, Table


def in_time(mechanism: Mechanism, s: float) -> Mechanism:
    """A copy whose motion takes s times as long: velocities / s, damping / s, forces / s^2.

    A user's own forces are not known here.
    """
    if mechanism.user_forces:
        raise ValueError("a user's force has no known scale")
    m = mechanism.copy()
    m.gravity = m.gravity / s**2
    m.velocities = [(name, v / s) for name, v in m.velocities]
    m.angular_velocities = [(name, w / s) for name, w in m.angular_velocities]
    m.forces = [replace(f, vector=f.vector / s**2) for f in m.forces]
    m.torques = [replace(f, vector=f.vector / s**2) for f in m.torques]
    m.springs = [
        replace(f, stiffness=f.stiffness / s**2, damping=f.damping / s, preload=f.preload / s**2)
        for f in m.springs
    ]
    m.torsions = [
        replace(f, stiffness=f.stiffness / s**2, damping=f.damping / s, torque=f.torque / s**2)
        for f in m.torsions
    ]
    m.drives = [replace(d, motion=motion_in_time(d.motion, s)) for d in m.drives]
    return m


def motion_in_time(motion, s):
    """The same values at times longer by s."""
    match motion:
        case Polynomial(coefficients):
            return Polynomial(tuple(c / s**k for k, c in enumerate(coefficients)))
        case Sine():
            return replace(motion, frequency=motion.frequency / s)
        case SmoothStep():
            return replace(motion, begin=motion.begin * s, end=motion.end * s)
        case Table():
            return replace(motion, times=tuple(t * s for t in motion.times))
    raise ValueError(f"no scale is known for {motion!r}")
