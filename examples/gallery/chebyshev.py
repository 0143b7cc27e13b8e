"""Chebyshev's lambda mechanism: a turning crank makes a point walk along a line and step back above it."""

import numpy as np

import sarrus

m = sarrus.Mechanism("Chebyshev's lambda mechanism", gravity=(0, 0))
A, B, D = np.array((0, 0)), np.array((0, 1)), np.array((2, 0))
# C is 2.5 away from both B and D
middle, along = (B + D) / 2, (D - B) / np.linalg.norm(D - B)
C = middle + np.sqrt(2.5**2 - np.sum((D - B) ** 2) / 4) * np.array((-along[1], along[0]))
m.rod("crank", A, B, mass=1)
m.rod("coupler", B, 2 * C - B, mass=2)
m.rod("rocker", D, C, mass=1)
m.revolute("A", m.ground, "crank", at=A)
m.revolute("B", "crank", "coupler", at=B)
m.revolute("C", "coupler", "rocker", at=C)
m.revolute("D", "rocker", m.ground, at=D)
m.point("foot", "coupler", 2 * C - B)
m.drive("motor", "A", sarrus.Polynomial([0, np.pi]))

result = sarrus.simulate(m, 4, output_step=0.02)
foot = result.position("foot")
print(f"the foot goes {np.ptp(foot[:, 0]):.3f} along and {np.ptp(foot[:, 1]):.3f} up and down")
# the foot goes 4.701 along and 0.899 up and down
