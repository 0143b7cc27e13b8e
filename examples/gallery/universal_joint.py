"""Hooke's joint: an even turn goes in, an uneven one comes out."""

import numpy as np

import sarrus

bend = np.radians(40)
out = np.array((np.cos(bend), 0, np.sin(bend)))
m = sarrus.Mechanism("Hooke's joint", gravity=(0, 0, 0))
m.body("input", mass=1, center=(-0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
m.body("output", mass=1, center=0.5 * out, inertia=(0.1, 0.1, 0.1))
m.revolute("in", m.ground, "input", at=(-1, 0, 0), axis=(1, 0, 0))
m.revolute("out", m.ground, "output", at=out, axis=out)
m.universal(
    "cross", "input", "output", at=(0, 0, 0), axis=(0, 1, 0), second_axis=(-out[2], 0, out[0])
)
m.point("mark in", "input", (-0.5, 0, 0.2))
m.point("mark out", "output", 0.5 * out + np.array((-out[2], 0, out[0])) * 0.2)
m.drive("motor", "in", sarrus.Polynomial([0, np.pi]))

result = sarrus.simulate(m, 4, output_step=0.01)
rate = np.linalg.norm(result.angular_velocity("output"), axis=1) / np.pi
print(f"the rate out is {rate.min():.4f} to {rate.max():.4f} of that in")
# the rate out is 0.7660 to 1.3054 of that in
