"""Bennett's linkage: four hinges in space; by the count it is a structure with two bars too many, and it moves."""

import numpy as np

import sarrus

# a skew quadrilateral with equal opposite sides; each hinge stands square on the two sides that meet in it
P = np.array([(1, 0, 0.3), (0.3, 0.8, -0.3), (-1, 0, 0.3), (-0.3, -0.8, -0.3)])
axes = [np.cross(P[i - 1] - P[i], P[(i + 1) % 4] - P[i]) for i in range(4)]
m = sarrus.Mechanism("Bennett's linkage", gravity=(0, 0, -9.81))
for i in range(3):
    m.rod(f"bar {i}", P[i], P[i + 1], mass=1, section=0.05)
bodies = [m.ground, "bar 0", "bar 1", "bar 2", m.ground]
for i in range(4):
    m.revolute(f"P{i}", bodies[i], bodies[i + 1], at=P[i], axis=axes[i])
m.set_angular_velocity("bar 0", 3 * axes[0] / np.linalg.norm(axes[0]))

result = sarrus.simulate(m, 4, output_step=0.02)
found = sarrus.inspect(m)
print(f"count {found.count}, mobility {found.mobility_motion}: {found.classification}")
# count -2, mobility 1: permanently redundant
