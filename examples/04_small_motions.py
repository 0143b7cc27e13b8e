"""Where a sprung four-bar rests, and how it swings there."""

import numpy as np

import sarrus


def make_sprung_four_bar() -> sarrus.Mechanism:
    """Three rods of one metre and one kilogram, cranks leaning back, a spring along the diagonal."""
    m = sarrus.Mechanism("sprung four-bar", gravity=(0, -9.81))
    b = np.array([np.cos(2.0), np.sin(2.0)])
    c = b + np.array([1.0, 0.0])
    m.rod("crank", (0, 0), b, mass=1)
    m.rod("coupler", b, c, mass=1)
    m.rod("rocker", c, (1, 0), mass=1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "coupler", at=b)
    m.revolute("C", "coupler", "rocker", at=c)
    m.revolute("D", "rocker", m.ground, at=(1, 0))
    spring = {"stiffness": 25, "damping": 1, "free_length": np.sqrt(2)}
    m.spring("diagonal", m.ground, "rocker", start=(0, 0), end=c, **spring)
    return m


def main() -> sarrus.Modes:
    """Find the rest and the small motions about it, and print them."""
    m = make_sprung_four_bar()
    rest = sarrus.equilibrium(m)
    x, y = rest.position("C")
    print(f"{rest.message}: C at ({x:.9f}, {y:.9f}) m")
    found = sarrus.modes(m, at=rest)
    for mode in found.modes:
        print(
            f"{mode.eigenvalue:.9f} 1/s, {mode.frequency:.6f} Hz, damping ratio {mode.damping:.4f}"
        )
    return found


if __name__ == "__main__":
    main()
