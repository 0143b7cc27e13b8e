"""The trammel of Archimedes: two sliders on a cross; every point of the bar draws an ellipse."""

import numpy as np

import sarrus

m = sarrus.Mechanism("trammel of Archimedes", gravity=(0, -9.81))
m.rod("bar", (-0.4, 1.4), (1, 0), mass=1)
m.body("up", mass=0.2, center=(0, 1), inertia=1e-3)
m.body("across", mass=0.2, center=(1, 0), inertia=1e-3)
m.prismatic("vertical", m.ground, "up", at=(0, 1), axis=(0, 1))
m.prismatic("level", m.ground, "across", at=(1, 0), axis=(1, 0))
m.revolute("A", "up", "bar", at=(0, 1))
m.revolute("B", "across", "bar", at=(1, 0))
m.point("pen", "bar", (-0.4, 1.4))
m.set_velocity("A", (0, 3))

result = sarrus.simulate(m, 4, output_step=0.01)
x, y = result.position("pen").T
off = (x / 0.4) ** 2 / 2 + (y / 1.4) ** 2 / 2 - 1
assert np.abs(off).max() < 1e-12
print("the pen stays on its ellipse within 1e-12")
# the pen stays on its ellipse within 1e-12
