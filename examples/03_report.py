"""A result to look at: a page that moves, a figure, a table for other programs."""

from pathlib import Path
from tempfile import mkdtemp

import sarrus


def main(folder: Path | None = None) -> float:
    """Simulate Bricard's linkage, write everything into a folder, and say how far P2 travels."""
    folder = folder or Path(mkdtemp())
    problem = sarrus.problems.get("rectangular-bricard")
    result = sarrus.simulate(problem.mechanism(), duration=5, output_step=0.01)
    page = result.animate("P2").save(folder / "moving.html")
    result.plot("P2").savefig(folder / "figure.png")
    result.save_csv(folder / "p2.csv", "P2")
    print(f"open {page} in a browser")
    x = result.position("P2")[:, 0]
    print(f"P2 travels from x = {x.max():.6f} to {x.min():.6f} m")
    return float(x.max() - x.min())


if __name__ == "__main__":
    main()
