"""Whitworth's quick return: a pin in a slotted arm; the ram goes slowly one way and fast the other."""

import numpy as np

import sarrus

m = sarrus.Mechanism("quick return", gravity=(0, 0))
O, P, Q = (0, 0), (0.15, 0), (0, -0.4)
crank = m.rod("crank", O, P, mass=1)
arm = m.rod("arm", Q, (0.3, 0.4), mass=2)
pin = m.body("pin", mass=0.1, center=P, inertia=1e-4)
ram = m.body("ram", mass=3, center=(0.8, 0.4), inertia=0.01)
rod = m.rod("rod", (0.3, 0.4), (0.8, 0.4), mass=0.5)
m.revolute("O", m.ground, crank, at=O)
m.revolute("P", crank, pin, at=P)
m.prismatic("slot", arm, pin, at=P, axis=(0.3, 0.8))
m.revolute("Q", m.ground, arm, at=Q)
m.revolute("R", arm, rod, at=(0.3, 0.4))
m.revolute("T", rod, ram, at=(0.8, 0.4))
m.prismatic("guide", m.ground, ram, at=(0.8, 0.4), axis=(1, 0))
m.drive("motor", "O", sarrus.Polynomial([0, np.pi]))

result = sarrus.simulate(m, 4, output_step=0.01)
fast = np.abs(result.velocity("ram")[:, 0])
forth = result.velocity("ram")[:, 0] > 0
print(f"up to {fast[forth].max():.3f} m/s one way, {fast[~forth].max():.3f} m/s the other")
# up to 1.611 m/s one way, 0.733 m/s the other
