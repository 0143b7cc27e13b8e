"""Windscreen wiper: one motor, two arms in step."""

import numpy as np

import sarrus

m = sarrus.Mechanism("wiper", gravity=(0, -9.81))
A, B = (0, 0), (0, 0.06)
C, D = (0.5, 0.16), (0.5, 0.04)
E, F = (1.0, 0.16), (1.0, 0.04)
m.rod("crank", A, B, mass=0.2)
m.rod("pushrod", B, C, mass=0.4)
m.body("left arm", mass=0.5, center=(0.4, 0.35), inertia=0.02)
m.rod("tie", C, E, mass=0.4)
m.body("right arm", mass=0.5, center=(0.9, 0.35), inertia=0.02)
m.revolute("A", m.ground, "crank", at=A)
m.revolute("B", "crank", "pushrod", at=B)
m.revolute("C", "pushrod", "left arm", "tie", at=C)
m.revolute("D", "left arm", m.ground, at=D)
m.revolute("E", "tie", "right arm", at=E)
m.revolute("F", "right arm", m.ground, at=F)
m.point("left blade", "left arm", (0.3, 0.6))
m.point("right blade", "right arm", (0.8, 0.6))
m.drive("motor", "A", sarrus.Polynomial([0, 2 * np.pi * 45 / 60]))

result = sarrus.simulate(m, 4, output_step=0.01)
print(f"the arms sweep {np.degrees(np.ptp(result.angle('D'))):.1f} degrees")
# the arms sweep 61.1 degrees
