"""The bits of results on other versions of Python: `make bits`.

    python tests/bits.py                          print digests of results as JSON
    python tests/bits.py --compare [PYTHON ...]   compare them with those of other interpreters

All problems by the default method, random mechanisms under loads, and variants of a mechanism, in lanes and by the
generic kernels. Linear algebra is that of NumPy and SciPy, whose last bits change with their versions. So an
interpreter with other versions of them runs with those of this one, installed for it in a temporary folder.
Nothing compiled is shared: the translation to machine code must not depend on the version either.
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
LIBRARIES = ("numpy", "scipy", "llvmlite", "numba")
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


def describe():
    """Digests with the versions that made them."""
    libraries = {name: version(name) for name in LIBRARIES}
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "libraries": libraries,
        "digests": find_digests(),
    }


def run(python, libraries=""):
    """What an interpreter finds, with an empty cache; libraries: a folder that comes before its own."""
    path = os.pathsep.join([str(SOURCE), *filter(None, [libraries])])
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"SARRUS_CACHE_DIR": cache, "PYTHONPATH": path}
        done = subprocess.run(
            [python, __file__], env=env, stdout=subprocess.PIPE, text=True, check=True
        )
    return json.loads(done.stdout)


def install_libraries(python, folder):
    """Put the libraries of this interpreter, as far as another one has others, into a folder for it."""
    code = f"import importlib.metadata as m; print(*(m.version(n) for n in {LIBRARIES}))"
    has = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    pairs = zip(LIBRARIES, has.split(), strict=True)
    wanted = [f"{name}=={version(name)}" for name, other in pairs if other != version(name)]
    if wanted:
        command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
        subprocess.run([*command, *wanted], check=True)


def differences(ours, theirs):
    """Sentences on what differs between two descriptions."""
    who = f"Python {theirs['python']}"
    if theirs["libraries"] != ours["libraries"]:
        return [f"{who} has other libraries: {theirs['libraries']}, not {ours['libraries']}"]
    a, b = ours["digests"], theirs["digests"]
    return [f"{who}: '{name}' is another result" for name in a | b if a.get(name) != b.get(name)]


def compare(pythons):
    """Sentences on what other interpreters find otherwise than this one."""
    ours, found = run(sys.executable), []
    for python in pythons:
        with tempfile.TemporaryDirectory() as folder:
            install_libraries(python, folder)
            theirs = run(python, folder)
        wrong = differences(ours, theirs)
        found += wrong
        print(
            f"Python {theirs['python']}: {len(ours['digests']) - len(wrong)} of {len(ours['digests'])} results "
            f"have the bits of Python {ours['python']}",
            flush=True,
        )
    return found


def main():
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", nargs="*", metavar="PYTHON")
    pythons = parser.parse_args().compare
    if pythons is None:
        print(json.dumps(describe(), indent=1))
    elif not pythons:
        print("this machine has no other version of Python: nothing to compare")
    elif found := compare(pythons):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
