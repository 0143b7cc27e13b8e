"""Slider-crank: a flywheel, a rod and a piston."""

import numpy as np

import sarrus

m = sarrus.Mechanism("slider-crank", gravity=(0, 0))
wheel = m.body("wheel", mass=5, center=(0, 0), inertia=0.1)
rod = m.rod("rod", (0, 0.2), (0.6**0.5, 0), mass=0.5)
piston = m.body("piston", mass=0.8, center=(0.6**0.5, 0), inertia=1e-3)
m.revolute("O", m.ground, wheel, at=(0, 0))
m.revolute("A", wheel, rod, at=(0, 0.2))
m.revolute("B", rod, piston, at=(0.6**0.5, 0))
m.prismatic("guide", m.ground, piston, at=(0.6**0.5, 0), axis=(1, 0))
m.point("mark", rod, (0.3 * 0.6**0.5, 0.14))
m.set_angular_velocity(wheel, -2 * np.pi)

result = sarrus.simulate(m, 2, output_step=0.01)
assert result.energy_drift < 1e-8
print(f"the stroke is {np.ptp(result.travel('guide')):.4f} m")
# the stroke is 0.3998 m
