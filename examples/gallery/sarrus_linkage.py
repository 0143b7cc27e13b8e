"""Sarrus's linkage: two pairs of hinged plates that guide a table straight up, without a slider."""

import numpy as np

import sarrus

m = sarrus.Mechanism("Sarrus's linkage", gravity=(0, 0, -9.81))
m.body("table", mass=2, center=(0, 0, 1), inertia=(0.1, 0.1, 0.2))
for name, u, axis in (("x", (1, 0, 0), (0, 1, 0)), ("y", (0, 1, 0), (1, 0, 0))):
    low, high = 0.4 * np.array(u), 0.4 * np.array(u) + (0, 0, 1)
    knee = 0.75 * np.array(u) + (0, 0, 0.5)
    m.rod(f"lower {name}", low, knee, mass=1, section=0.05)
    m.rod(f"upper {name}", knee, high, mass=1, section=0.05)
    m.revolute(f"foot {name}", m.ground, f"lower {name}", at=low, axis=axis)
    m.revolute(f"knee {name}", f"lower {name}", f"upper {name}", at=knee, axis=axis)
    m.revolute(f"head {name}", f"upper {name}", "table", at=high, axis=axis)
m.spring(
    "spring", m.ground, "table", start=(0, 0, 0), end=(0, 0, 1), stiffness=120, free_length=1.2
)

result = sarrus.simulate(m, 4, output_step=0.02)
place = result.position("table")
assert np.ptp(place[:, :2]) < 1e-12
print(f"straight up and down, {np.ptp(place[:, 2]):.3f} m")
# straight up and down, 0.254 m
