"""Watt's linkage: the middle of a short coupler between two long arms goes almost straight."""

import numpy as np

import sarrus

m = sarrus.Mechanism("Watt's linkage", gravity=(0, 0))
m.rod("left", (-1, 0.2), (0, 0.2), mass=1)
m.rod("coupler", (0, 0.2), (0, -0.2), mass=0.5)
m.rod("right", (0, -0.2), (1, -0.2), mass=1)
m.revolute("A", m.ground, "left", at=(-1, 0.2))
m.revolute("B", "left", "coupler", at=(0, 0.2))
m.revolute("C", "coupler", "right", at=(0, -0.2))
m.revolute("D", "right", m.ground, at=(1, -0.2))
m.point("middle", "coupler", (0, 0))
m.drive("swing", "A", sarrus.Sine(amplitude=0.45, frequency=0.5))

result = sarrus.simulate(m, 4, output_step=0.02)
x, y = result.position("middle").T
print(f"{1000 * np.abs(x).max():.2f} mm from the line on a stroke of {1000 * np.ptp(y):.0f} mm")
# 22.61 mm from the line on a stroke of 890 mm
