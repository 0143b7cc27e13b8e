"""A leg of Jansen's beach animal: its lengths are his (in centimetres), its foot walks."""

import numpy as np

import sarrus

CM = 0.01
m = sarrus.Mechanism("Jansen's leg", gravity=(0, 0))
m.point("O", m.ground, (38 * CM, 7.8 * CM))
m.point("B", m.ground, (0, 0))
m.crank("X", "m", "O", length=15 * CM, angle=0, mass=0.1)
knee = {"D": ("knee", 40.1 * CM, 55.8 * CM)}  # from B and from C
m.dyad(
    "C",
    ("j", "knee"),
    ("X", "B"),
    lengths=(50 * CM, 41.5 * CM),
    side="right",
    points=knee,
    mass=0.2,
)
m.dyad("E", ("k", "c"), ("X", "B"), lengths=(61.9 * CM, 39.3 * CM), side="left", mass=0.2)
foot = {"foot": ("shank", 49 * CM, 65.7 * CM)}
m.dyad(
    "F",
    ("f", "shank"),
    ("D", "E"),
    lengths=(39.4 * CM, 36.7 * CM),
    side="right",
    points=foot,
    mass=0.2,
)
m.drive("wind", "O", sarrus.Polynomial([0, -np.pi]))

result = sarrus.simulate(m, 4, output_step=0.02)
print(f"a step is {100 * np.ptp(result.position('foot')[:, 0]):.1f} cm long")
# a step is 67.9 cm long
