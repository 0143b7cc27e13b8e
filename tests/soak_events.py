"""Events of many random runs against a brute-force search: `python tests/soak_events.py --runs 10000`.

`--method generalized-alpha --step 0.01` searches the polynomials between the steps of another method.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "events"))

from test_random_events import compare


def main() -> None:
    """Compare run by run; the first one with a missed or invented event ends it with its seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--method", default="series")
    parser.add_argument("--step", type=float, help="of methods with a fixed step [s]")
    given = parser.parse_args()
    method = {"method": given.method} | ({"step": given.step} if given.step else {})
    count = 0
    for n, seed in enumerate(range(given.first, given.first + given.runs), start=1):
        count += compare(seed, **method)
        if n % 500 == 0 or n == given.runs:
            print(f"{n} runs, {count} events, none missed", flush=True)


if __name__ == "__main__":
    main()
