"""Double pendulum: two rods, chaos."""

import sarrus

m = sarrus.Mechanism("double pendulum", gravity=(0, -9.81))
upper = m.rod("upper", (0, 0), (1, 0), mass=1)
lower = m.rod("lower", (1, 0), (1, 1), mass=1)
m.revolute("O", m.ground, upper, at=(0, 0))
m.revolute("A", upper, lower, at=(1, 0))
m.point("tip", lower, (1, 1))

result = sarrus.simulate(m, 6, output_step=0.02)
assert result.energy_drift < 1e-8
print("energy is kept within 1e-8 J")
# energy is kept within 1e-8 J
