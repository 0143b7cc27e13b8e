"""The bits of results on other versions of Python: `make bits`.

    python tests/bits.py                          print digests of results as JSON
    python tests/bits.py --compare [PYTHON ...]   compare them with those of other interpreters

All problems by the default method, random mechanisms under loads, and variants of a mechanism, in lanes and by the
generic kernels. Linear algebra is that of NumPy and SciPy, whose last bits change with their versions: so all
interpreters run with the libraries of the oldest one, which are installed for the others in temporary folders.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
LIBRARIES = ("numpy", "scipy", "llvmlite")
RANDOM, VARIANTS = 40, 24


def digest(*arrays):
    """One digest of shapes and bytes of arrays."""
    import numpy as np

    whole = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        whole.update(repr((array.shape, array.dtype.str)).encode() + array.tobytes())
    return whole.hexdigest()


def digest_of_result(result):
    """Of what a run found: places, velocities, energies, crossings, and how it got there."""
    import numpy as np

    bodies = [body.name for body in result.mechanism.bodies]
    return digest(
        result.times,
        *(result.position(name) for name in bodies),
        *(result.velocity(name) for name in bodies),
        result.energy_balance,
        np.array([c.time for c in result.crossings]),
        np.array([result.counters[name] for name in sorted(result.counters)]),
        np.frombuffer(result.message.encode(), np.uint8),
    )


def find_digests():
    """Digests by name of the result."""
    import numpy as np

    import sarrus
    from agreement.test_random_loads import add_loads
    from soak import make

    found = {}
    for name in sarrus.problems.names():
        problem = sarrus.problems.get(name)
        result = sarrus.simulate(problem.mechanism(), problem.duration, problem.output_step)
        found[name] = digest_of_result(result)
    for seed in range(RANDOM):
        m = add_loads(make(seed), seed)
        found[m.name] = digest_of_result(sarrus.simulate(m, 0.3, 0.05, misfit=0.0))
    four_bar = sarrus.problems.get("double-four-bar").mechanism()
    masses = {"bodies.crank 1.mass": np.linspace(0.5, 2.0, VARIANTS)}
    for count in (VARIANTS, 3):
        some = {path: values[:count] for path, values in masses.items()}
        runs = sarrus.Ensemble(four_bar, some).simulate(2.0, 0.1, crossings=True)
        found[f"{count} variants"] = digest(runs.values, runs.final, *runs.crossings)
    return found


def find_versions():
    """Versions of Python and of the libraries here."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {"python": list(sys.version_info[:3]), "libraries": libraries}


def describe():
    """Digests with the versions that made them."""
    return find_versions() | {"digests": find_digests()}


def ask(python, *arguments, path=""):
    """What this script prints on another interpreter; path: folders that come before its own."""
    found = os.pathsep.join(filter(None, [str(SOURCE), str(path)]))
    # nothing compiled is shared: the translation to machine code must not depend on the version either
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"SARRUS_CACHE_DIR": cache, "PYTHONPATH": found}
        command = [python, __file__, *arguments]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def describe_with(python, libraries):
    """What an interpreter finds with these libraries; those that it has in other versions are installed aside."""
    own = ask(python, "--versions")["libraries"]
    wanted = [f"{name}=={number}" for name, number in libraries.items() if own[name] != number]
    with tempfile.TemporaryDirectory() as folder:
        if wanted:
            command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
            subprocess.run([*command, *wanted], check=True)
        return ask(python, path=folder)


def differences(ours, theirs):
    """Sentences on what differs between two descriptions."""
    who = f"Python {show(theirs)}"
    if theirs["libraries"] != ours["libraries"]:
        return [f"{who} has other libraries: {theirs['libraries']}, not {ours['libraries']}"]
    a, b = ours["digests"], theirs["digests"]
    return [f"{who}: '{name}' is another result" for name in a | b if a.get(name) != b.get(name)]


def show(described):
    """The version of Python as it is written."""
    return ".".join(map(str, described["python"]))


def compare(pythons):
    """Sentences on what newer versions of Python find otherwise than the oldest one."""
    # libraries of the oldest version run on the newer ones too, but not the other way round
    oldest, *others = sorted(pythons, key=lambda python: ask(python, "--versions")["python"])
    libraries = ask(oldest, "--versions")["libraries"]
    first, found = describe_with(oldest, libraries), []
    print(f"Python {show(first)} with {libraries}", flush=True)
    for python in others:
        theirs = describe_with(python, libraries)
        wrong = differences(first, theirs)
        found += wrong
        same = len(first["digests"]) - len(wrong)
        print(
            f"Python {show(theirs)}: {same} of {len(first['digests'])} have the same bits",
            flush=True,
        )
    return found


def main():
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", nargs="*", metavar="PYTHON")
    parser.add_argument("--versions", action="store_true")
    requested = parser.parse_args()
    if requested.compare is None:
        print(json.dumps(find_versions() if requested.versions else describe(), indent=1))
    elif not requested.compare:
        print("this machine has no other version of Python: nothing to compare")
    elif found := compare([sys.executable, *requested.compare]):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
