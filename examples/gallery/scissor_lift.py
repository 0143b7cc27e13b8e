"""Scissor lift: three units, raised by a driven slider."""

import numpy as np

import sarrus

m = sarrus.Mechanism("scissor lift", gravity=(0, -9.81))
a, h, n = 0.9, 0.3, 3
for k in range(n):
    m.rod(f"up {k}", (0, k * h), (a, (k + 1) * h), mass=2)
    m.rod(f"down {k}", (a, k * h), (0, (k + 1) * h), mass=2)
    m.revolute(f"middle {k}", f"up {k}", f"down {k}", at=(a / 2, (k + 0.5) * h))
    if k:
        m.revolute(f"left {k}", f"down {k - 1}", f"up {k}", at=(0, k * h))
        m.revolute(f"right {k}", f"up {k - 1}", f"down {k}", at=(a, k * h))
m.body("shoe", mass=1, center=(a, 0), inertia=0.01)
m.revolute("foot", m.ground, "up 0", at=(0, 0))
m.revolute("heel", "shoe", "down 0", at=(a, 0))
m.prismatic("slide", m.ground, "shoe", at=(a, 0), axis=(1, 0))
m.drive("screw", "slide", sarrus.SmoothStep(0, -0.5, 0, 3))

result = sarrus.simulate(m, 4, output_step=0.02)
print(f"the screw pulls with up to {np.abs(result.drive_force('screw')).max():.0f} N")
# the screw pulls with up to 579 N
