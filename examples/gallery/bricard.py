"""Bricard's linkage: six revolute joints; mobility 0 by the formula, 1 degree of freedom in fact."""

import sarrus

m = sarrus.Mechanism("rectangular Bricard", gravity=(0, 0, -9.81))
P = [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)]
axes = [(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]
for i in range(5):
    m.rod(f"rod {i}", P[i], P[i + 1], mass=1, section=0.1)
for i in range(6):
    before = m.ground if i == 0 else f"rod {i - 1}"
    after = m.ground if i == 5 else f"rod {i}"
    m.revolute(f"P{i}", before, after, at=P[i], axis=axes[i])

result = sarrus.simulate(m, 5, output_step=0.02)
print(sarrus.inspect(m).classification)
# permanently redundant
