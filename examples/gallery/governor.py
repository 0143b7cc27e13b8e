"""Watt's governor: balls fly out as the shaft turns faster and lift a sleeve against a spring."""

import numpy as np

import sarrus

m = sarrus.Mechanism("governor", gravity=(0, 0, -9.81))
m.body("shaft", mass=1, center=(0, 0, 0.5), inertia=(0.01, 0.01, 0.02))
m.body("sleeve", mass=1, center=(0, 0, 0.4), inertia=(1e-3, 1e-3, 1e-3))
m.revolute("bearing", m.ground, "shaft", at=(0, 0, 0), axis=(0, 0, 1))
m.prismatic("slide", "shaft", "sleeve", at=(0, 0, 0.4), axis=(0, 0, 1))
for name, s in (("left", -1), ("right", 1)):
    m.rod(f"{name} arm", (0, 0, 1), (0.4 * s, 0, 0.6), mass=1, section=0.04)
    m.rod(f"{name} link", (0.2 * s, 0, 0.8), (0, 0, 0.4), mass=0.2, section=0.02)
    m.revolute(f"top {name}", "shaft", f"{name} arm", at=(0, 0, 1), axis=(0, 1, 0))
    m.revolute(f"pin {name}", f"{name} arm", f"{name} link", at=(0.2 * s, 0, 0.8), axis=(0, 1, 0))
    m.revolute(f"foot {name}", f"{name} link", "sleeve", at=(0, 0, 0.4), axis=(0, 1, 0))
m.spring("spring", "shaft", "sleeve", start=(0, 0, 1), end=(0, 0, 0.4), stiffness=300, damping=20)
m.drive("engine", "bearing", sarrus.Polynomial([0, 6, 1]))

result = sarrus.simulate(m, 4, output_step=0.01)
print(f"the sleeve rises by {1000 * np.ptp(result.travel('slide')):.0f} mm")
# the sleeve rises by 135 mm
