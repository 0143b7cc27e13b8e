"""Pantograph: a parallelogram that copies a drawing twice as large."""

import numpy as np

import sarrus

m = sarrus.Mechanism("pantograph", gravity=(0, 0))
O, A, E = (0, 0), (0.5, 0.8), (2, 0)
B, C, D = (1, 1.6), (1.5, 0.8), (1, 0)
m.rod("OB", O, B, mass=1)
m.rod("BE", B, E, mass=1)
m.rod("AD", A, D, mass=0.5)
m.rod("DC", D, C, mass=0.5)
m.revolute("O", m.ground, "OB", at=O)
m.revolute("A", "OB", "AD", at=A)
m.revolute("B", "OB", "BE", at=B)
m.revolute("C", "BE", "DC", at=C)
m.revolute("D", "AD", "DC", at=D)
m.point("copy", "BE", E)
m.drive("turn", "O", sarrus.Sine(amplitude=0.3, frequency=0.5))
m.drive("open", "B", sarrus.Sine(amplitude=0.4, frequency=1))

result = sarrus.simulate(m, 4, output_step=0.02)
off = result.position("copy") - 2 * result.position("D")
assert np.abs(off).max() < 1e-12
print("the copy is twice the drawing within 1e-12 m")
# the copy is twice the drawing within 1e-12 m
