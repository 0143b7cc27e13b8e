"""What compares results on several versions of Python finds a difference, and finds the versions."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bits

FINDER = Path(__file__).parents[2] / ".ci" / "pythons"


def described(digests, numpy="2.0"):
    return {"python": [3, 13, 0], "libraries": {"numpy": numpy}, "digests": digests}


def test_a_bit_is_another_digest():
    """Arrays that differ in one unit in the last place, in their shape or in a sign of zero have other digests."""
    x = np.array([1.0, 0.0])
    others = [np.array([np.nextafter(1.0, 2.0), 0.0]), x.reshape(2, 1), np.array([1.0, -0.0])]
    assert all(bits.digest(x) != bits.digest(other) for other in others)
    assert bits.digest(x) == bits.digest(x.copy())


@pytest.mark.parametrize(
    "theirs", [{"a": "1", "b": "3"}, {"a": "1"}, {"a": "1", "b": "2", "c": "3"}]
)
def test_a_result_that_differs_or_lacks_is_named(theirs):
    """Another digest, a missing result and a further one are each one sentence with the name."""
    (found,) = bits.differences(described({"a": "1", "b": "2"}), described(theirs))
    assert ("'c'" if "c" in theirs else "'b'") in found


def test_other_libraries_are_not_compared():
    """Other versions of the libraries are an error of their own, also where all digests are the same."""
    ours = described({"a": "1"})
    assert bits.differences(ours, ours) == []
    (found,) = bits.differences(ours, described({"a": "1"}, numpy="1.0"))
    assert "other libraries" in found


@pytest.mark.skipif(not FINDER.exists(), reason="only a checkout has the scripts of CI")
def test_versions_are_found_past_shims_that_start_nothing(tmp_path):
    """A version whose command on the PATH fails is found at pyenv; one that fails everywhere is left out."""
    versions = [f"3.{n}" for n in (11, 12, 13, 14) if n != sys.version_info.minor]
    broken, works = "#!/bin/sh\nexit 127\n", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'

    def put(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    shims, pyenv = tmp_path / "shims", tmp_path / "pyenv"
    for version in versions:
        put(shims / f"python{version}", broken)
    first, second, third = versions
    on_path = put(shims / f"python{first}", works)
    of_pyenv = put(pyenv / "versions" / f"{second}.7" / "bin" / f"python{second}", works)
    put(pyenv / "versions" / f"{third}.1" / "bin" / f"python{third}", broken)
    env = os.environ | {"PATH": f"{shims}:/usr/bin:/bin", "PYENV_ROOT": str(pyenv)}
    done = subprocess.run(
        [FINDER, sys.executable], env=env, capture_output=True, text=True, check=True
    )
    found = dict(line.split("=") for line in done.stdout.splitlines())
    assert (found.get(first), found.get(second)) == (str(on_path), str(of_pyenv))
    # the machine itself may have the third one
    assert str(tmp_path) not in found.get(third, "")
