"""Peaucellier's inversor: seven bars that draw an exact straight line."""

import numpy as np

import sarrus

m = sarrus.Mechanism("Peaucellier's inversor", gravity=(0, 0))
O, Q, P, S = (0, 0), (1, 0), (2.2, 0), (0.5, 0)
y = np.sqrt(1.9**2 - 1.6**2)
U, V = (1.6, y), (1.6, -y)
for name, start, end in (
    ("OU", O, U), ("OV", O, V), ("QU", Q, U), ("QV", Q, V), ("PU", P, U), ("PV", P, V), ("SQ", S, Q)
):  # fmt: skip
    m.rod(name, start, end, mass=1)
m.revolute("O", m.ground, "OU", "OV", at=O)
m.revolute("S", m.ground, "SQ", at=S)
m.revolute("Q", "SQ", "QU", "QV", at=Q)
m.revolute("U", "OU", "QU", "PU", at=U)
m.revolute("V", "OV", "QV", "PV", at=V)
m.revolute("P", "PU", "PV", at=P)
m.drive("swing", "S", sarrus.Sine(amplitude=0.9, frequency=0.25))

result = sarrus.simulate(m, 4, output_step=0.02)
x = result.position("P")[:, 0]
assert np.ptp(x) < 1e-12
print("P stays on its line within 1e-12 m")
# P stays on its line within 1e-12 m
