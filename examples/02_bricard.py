"""A linkage that moves although the joint count says it cannot: Bricard's, tilted in space."""

import numpy as np

import sarrus

PLACES = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
AXES = np.array([(0, 1, 0), (0, 0, 1), (1, 0, 0)] * 2, float)


def make_bricard(tilt: float) -> sarrus.Mechanism:
    """Five rods, six hinges, the whole turned about z by `tilt` [rad]; gravity turns with it."""
    c, s = np.cos(tilt), np.sin(tilt)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    places, axes = PLACES @ turn.T, AXES @ turn.T
    m = sarrus.Mechanism("Bricard", gravity=turn @ (0, -9.81, 0))
    rods = [m.rod(f"rod {i}", places[i], places[i + 1], mass=1, section=0.1) for i in range(5)]
    chain = [m.ground, *rods, m.ground]
    for i in range(6):
        m.revolute(f"P{i}", chain[i], chain[i + 1], at=places[i], axis=axes[i])
    return m


def main() -> float:
    """Simulate upright and tilted; the motion must be the same."""
    depths = []
    for tilt in (0.0, 0.5):
        m = make_bricard(tilt)
        result = sarrus.simulate(m, duration=10)
        print(f"tilted by {tilt} rad: energy drift {result.energy_drift:.1e} J")
        depths.append(result.position("P2") @ m.gravity / 9.81)
    difference = float(np.abs(depths[0] - depths[1]).max())
    print(f"largest difference of the depth of P2: {difference:.1e} m")
    return difference


if __name__ == "__main__":
    main()
