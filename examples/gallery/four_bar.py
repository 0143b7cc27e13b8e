"""Four-bar: a crank turns, a rocker swings, and a point of the coupler draws its curve."""

import numpy as np

import sarrus

m = sarrus.Mechanism("four-bar", gravity=(0, -9.81))
A, B, C, D = (0, 0), (0, 0.4), (1.3, 1.0), (1, 0)
crank = m.rod("crank", A, B, mass=0.4)
coupler = m.body("coupler", mass=1.5, center=(0.6, 0.9), inertia=0.3)
rocker = m.rod("rocker", C, D, mass=1)
m.revolute("A", m.ground, crank, at=A)
m.revolute("B", crank, coupler, at=B)
m.revolute("C", coupler, rocker, at=C)
m.revolute("D", rocker, m.ground, at=D)
m.point("pen", coupler, (0.5, 1.3))
m.drive("motor", "A", sarrus.Polynomial([0, np.pi]))

result = sarrus.simulate(m, 4, output_step=0.02)
print(f"the rocker swings by {np.degrees(np.ptp(result.angle('D'))):.1f} degrees")
# the rocker swings by 66.7 degrees
