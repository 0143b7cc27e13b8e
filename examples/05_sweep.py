"""A study in Python: how often a four-bar passes its flat configuration, for many start speeds."""

import sarrus


def passes(result, mechanism):
    """How often the cranks lie flat: all pins in a line."""
    return len(result.crossings)


def main():
    """Run 24 speeds on two workers; returns the table."""
    table = sarrus.sweep(
        problem="double-four-bar",
        set={"windows": 1},
        vary={"velocities.B0.0": {"range": {"from": 0.5, "to": 6.25, "count": 24}}},
        simulate={"duration": 5, "output_step": 0.05},
        record={"drift": "energy_drift", "passes": passes},
        workers=2,
    )
    print(table[["velocities.B0.0", "drift", "passes", "status"]].to_string())
    return table


# workers are new processes that import this file
if __name__ == "__main__":
    main()
