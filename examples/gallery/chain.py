"""A loaded chain: ten links between two posts, let go from an arch."""

import numpy as np

import sarrus

m = sarrus.Mechanism("chain", gravity=(0, -9.81))
angles = np.linspace(np.pi, 0, 11)
places = [(np.cos(a), np.sin(a)) for a in angles]
for k in range(10):
    m.rod(f"link {k}", places[k], places[k + 1], mass=0.2)
m.revolute("left", m.ground, "link 0", at=places[0])
for k in range(1, 10):
    m.revolute(f"pin {k}", f"link {k - 1}", f"link {k}", at=places[k])
    m.torsion(f"friction {k}", f"pin {k}", damping=0.01)
m.revolute("right", "link 9", m.ground, at=places[10])
m.set_velocity("pin 5", (0.1, 0))

result = sarrus.simulate(m, 4, output_step=0.01)
print(f"{result.status}: the middle is {-result.position('pin 5')[-1, 1]:.2f} m below the posts")
# done: the middle is 1.11 m below the posts
