"""A four-bar that passes its flat configuration ten times in ten seconds."""

import sarrus


def make_four_bar() -> sarrus.Mechanism:
    """Three rods of one metre and one kilogram on two ground pins."""
    m = sarrus.Mechanism("four-bar", gravity=(0, -9.81))
    crank = m.rod("crank", (0, 0), (0, 1), mass=1)
    coupler = m.rod("coupler", (0, 1), (1, 1), mass=1)
    rocker = m.rod("rocker", (1, 1), (1, 0), mass=1)
    m.revolute("A0", m.ground, crank, at=(0, 0))
    m.revolute("B0", crank, coupler, at=(0, 1))
    m.revolute("B1", coupler, rocker, at=(1, 1))
    m.revolute("A1", rocker, m.ground, at=(1, 0))
    m.set_velocity("B0", (1, 0))
    return m


def main() -> sarrus.Result:
    """Simulate and print what happened."""
    result = sarrus.simulate(make_four_bar(), duration=10, output_step=0.01)
    x, y = result.position("B0")[-1]
    print(f"{result.status}: B0 ends at ({x:.9f}, {y:.9f}) m")
    print(f"energy drift {result.energy_drift:.1e} J, steps {result.counters['steps']}")
    print(
        f"CPU {result.cpu_seconds * 1e3:.2f} ms, of which solve {result.solve_seconds * 1e3:.2f} ms"
    )
    return result


if __name__ == "__main__":
    main()
