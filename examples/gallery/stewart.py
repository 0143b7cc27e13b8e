"""Stewart's platform: six driven legs, each a length as a function of time."""

import numpy as np

import sarrus

m = sarrus.Mechanism("Stewart's platform", gravity=(0, 0, -9.81))
m.body("platform", mass=10, center=(0, 0, 1), inertia=(0.6, 0.6, 1.2))
for k in range(6):
    below = np.radians(60 * (k // 2) * 2 + (-10 if k % 2 else 10) + 60 * (k % 2) * 2)
    above = np.radians(60 * (k // 2) * 2 + 60 + (10 if k % 2 else -10))
    foot = (np.cos(below), np.sin(below), 0)
    head = (0.6 * np.cos(above), 0.6 * np.sin(above), 1)
    m.distance(f"leg {k}", m.ground, "platform", start=foot, end=head)
    length = float(np.linalg.norm(np.subtract(head, foot)))
    motion = sarrus.Sine(amplitude=0.1, frequency=0.5, phase=k, offset=length - 0.1 * np.sin(k))
    m.drive(f"motor {k}", f"leg {k}", motion)

result = sarrus.simulate(m, 4, output_step=0.02)
print(
    f"the legs push with up to {max(np.abs(result.drive_force(f'motor {k}')).max() for k in range(6)):.0f} N"
)
# the legs push with up to 30 N
