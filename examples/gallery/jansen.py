"""A leg of Jansen's beach animal: its lengths are his (in centimetres), its foot walks."""

import numpy as np

import sarrus


def meet(p, r, q, s):
    """The point at distance r from p and s from q, on the left of the way from p to q."""
    d, length = q - p, np.hypot(*(q - p))
    along = (length**2 + r**2 - s**2) / (2 * length)
    return p + (along * d + np.sqrt(r**2 - along**2) * np.array((-d[1], d[0]))) / length


B, O = np.array((0.0, 0.0)), np.array((38.0, 7.8))
X = O + np.array((15.0, 0.0))
C, E = meet(B, 41.5, X, 50), meet(X, 61.9, B, 39.3)
D = meet(B, 40.1, C, 55.8)
F = meet(E, 36.7, D, 39.4)
foot = meet(E, 49, F, 65.7)
m = sarrus.Mechanism("Jansen's leg", gravity=(0, 0))
for name, start, end in (("m", O, X), ("j", X, C), ("k", X, E), ("c", B, E), ("f", D, F)):
    m.rod(name, start, end, mass=1)
m.body("knee", mass=2, center=(B + C + D) / 3, inertia=600)
m.body("shank", mass=2, center=(E + F + foot) / 3, inertia=600)
m.revolute("O", m.ground, "m", at=O)
m.revolute("B", m.ground, "c", "knee", at=B)
m.revolute("X", "m", "j", "k", at=X)
m.revolute("C", "j", "knee", at=C)
m.revolute("D", "knee", "f", at=D)
m.revolute("E", "k", "c", "shank", at=E)
m.revolute("F", "f", "shank", at=F)
m.point("foot", "shank", foot)
m.drive("wind", "O", sarrus.Polynomial([0, -np.pi]))

result = sarrus.simulate(m, 4, output_step=0.02)
print(f"a step is {np.ptp(result.position('foot')[:, 0]):.1f} cm long")
# a step is 67.9 cm long
