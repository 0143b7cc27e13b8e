"""Bytes that keep the HDF5 library busy forever: files are read in a child process first, which has limits."""

import hashlib
import io
import struct

import h5py
import numpy as np
import pytest

from file_kinds import call
from run_folders import save_example
from sarrus import SavedResultError, load_result, storage
from sarrus.hdf5 import SEAL, SEALED, SIGNATURE
from sarrus.runs.run_folder import RunFolderError, load_run

pytest.importorskip("resource", reason="this system has no limits on CPU time")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run."""
    return save_example(tmp_path_factory.mktemp("tried") / "run", duration=0.1)


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    """A second of CPU time: loading the library takes a fifth."""
    monkeypatch.setattr(storage, "START_SECONDS", 1.0)


def unseal(content):
    """The bytes of a file without its digest, as another program writes it."""
    buffer = io.BytesIO(content)
    with h5py.File(buffer, "r+") as file:
        del file.attrs[SEALED]
    return buffer.getvalue()


def seal(content):
    """The bytes with a digest that fits: its author knows how to write one."""
    return content + SEAL + hashlib.sha256(content).hexdigest().encode()


def make_endless(content):
    """Sixteen zeros where the heap of texts has the head of its second object: HDF5 looks there forever."""
    content = bytearray(content)
    first = content.find(b"GCOL") + 16
    (size,) = struct.unpack_from("<Q", content, first + 8)
    second = first + 16 + (size + 7) // 8 * 8
    assert struct.unpack_from("<H", content, second) == (2,)
    content[second : second + 16] = bytes(16)
    return bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("has_digest", [False, True])
def test_a_file_that_this_user_did_not_sign_is_tried(run, tmp_path, has_digest):
    """One that HDF5 reads forever is rejected by the limit; a good one gives its numbers."""
    content = (run / "result.h5").read_bytes()
    finish = seal if has_digest else (lambda content: content)
    good = content[: content.rindex(SIGNATURE)] if has_digest else unseal(content)
    path = tmp_path / "x.h5"
    path.write_bytes(finish(make_endless(good)))
    with pytest.raises(SavedResultError, match=r"x\.h5 cannot be read: .* more than 1 s of CPU"):
        load_result(path)
    path.write_bytes(finish(good))
    found, known = load_result(path), load_result(run / "result.h5")
    assert np.array_equal(found.outcome.record.q, known.outcome.record.q)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("report", "bad"), ("audit", "bad"), ("audit", "bad/result.h5"), ("view", "bad")]
)
def test_commands_try_files_of_anybody(run, tmp_path, monkeypatch, words):
    """Also with a digest that fits: one sentence, status 2."""
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad"
    bad.mkdir()
    for path in run.iterdir():
        (bad / path.name).write_bytes(path.read_bytes())
    content = (run / "result.h5").read_bytes()
    (bad / "result.h5").write_bytes(seal(make_endless(content[: content.rindex(SIGNATURE)])))
    code, _, said = call(*words)
    assert code == 2
    assert "result.h5 cannot be read: it takes more than 1 s of CPU time" in said.replace("\n", " ")
    assert "fault" not in said


def test_files_that_this_user_signed_are_read_at_once(run, monkeypatch):
    """Python code loads thousands of its own results: no process is started for them, nor with verify=False."""

    def forbidden(*_):
        raise AssertionError("a child process was started")

    monkeypatch.setattr(storage, "request", forbidden)
    load_result(run / "result.h5")
    load_run(run)
    plain = run / "plain.h5"
    plain.write_bytes(unseal((run / "result.h5").read_bytes()))
    load_result(plain, verify=False)
    with pytest.raises(SavedResultError, match="child process"):
        load_result(plain)


def test_only_plain_files_are_tried(run, tmp_path):
    """A folder or nothing at the place of a result is reported without a process."""
    (tmp_path / "run.json").write_bytes((run / "run.json").read_bytes())
    with pytest.raises(RunFolderError, match="is missing"):
        load_run(tmp_path)
    (tmp_path / "result.h5").mkdir()
    with pytest.raises(RunFolderError, match="there is no file"):
        load_run(tmp_path)


def test_a_signature_is_of_these_bytes_by_this_key(run, tmp_path, monkeypatch):
    """Another user's file, and the signature of another file with a digest that fits, start a child process."""
    content = (run / "result.h5").read_bytes()
    body, signature = content[: content.rindex(SIGNATURE)], content[content.rindex(SIGNATURE) :]
    other = tmp_path / "x.h5"
    other.write_bytes(seal(body + b" " + signature[: signature.index(SEAL)]))
    tried = []
    monkeypatch.setattr(storage, "request", lambda *question: tried.append(question))
    load_result(other)
    assert len(tried) == 1
    load_result(run / "result.h5")
    assert len(tried) == 1
    monkeypatch.setattr(storage, "_signing_key", lambda: bytes(32))
    load_result(run / "result.h5")
    assert len(tried) == 2
