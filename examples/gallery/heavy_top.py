"""Heavy top: a fast spin keeps it from falling; its axis nods while it goes round."""

import numpy as np

import sarrus

tilt = np.radians(35)
axis = np.array((np.sin(tilt), 0, np.cos(tilt)))
m = sarrus.Mechanism("heavy top", gravity=(0, 0, -9.81))
along = np.outer(axis, axis)
m.body("top", mass=1, center=0.5 * axis, inertia=0.02 * along + 0.03 * (np.eye(3) - along))
m.spherical("tip", m.ground, "top", at=(0, 0, 0))
m.point("nose", "top", axis)
m.set_angular_velocity("top", 250 * axis)

result = sarrus.simulate(m, 4, output_step=0.002)
height = np.degrees(np.arccos(result.position("nose")[:, 2]))
print(f"it nods between {height.min():.2f} and {height.max():.2f} degrees")
# it nods between 35.00 and 39.17 degrees
