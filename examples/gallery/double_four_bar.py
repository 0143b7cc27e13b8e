"""Two parallelograms that lie flat ten times in ten seconds: there 1 degree of freedom becomes 3."""

import sarrus

m = sarrus.Mechanism("double four-bar", gravity=(0, -9.81))
cranks = [m.rod(f"crank {i}", (i, 0), (i, 1), mass=1) for i in range(3)]
couplers = [m.rod(f"coupler {i}", (i, 1), (i + 1, 1), mass=1) for i in range(2)]
for i, crank in enumerate(cranks):
    m.revolute(f"A{i}", m.ground, crank, at=(i, 0))
m.revolute("B0", cranks[0], couplers[0], at=(0, 1))
m.revolute("B1", couplers[0], cranks[1], couplers[1], at=(1, 1))
m.revolute("B2", couplers[1], cranks[2], at=(2, 1))
m.set_velocity("B0", (1, 0))

result = sarrus.simulate(m, 4, output_step=0.02)
print(f"{len(result.crossings)} crossings, the first at {result.crossings[0].time:.6f} s")
# 4 crossings, the first at 0.714356 s
