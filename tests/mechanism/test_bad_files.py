"""Files that cannot be read: one clear message a problem, with file, line and key; never a traceback.

The corpus is `bad_files/`: the first lines of each file are comments with its expected messages.
"""

import os
import re
from pathlib import Path

import pytest
import yaml

from sarrus.mechanism import JointKind, MechanismError, ModelFileError, from_data, load, to_data
from sarrus.mechanism.files import model_reader

CORPUS = sorted((Path(__file__).parent / "bad_files").glob("*.yaml"))
GOOD = """sarrus: 1
gravity: [0, -9.81]
bodies:
  bob: {mass: 1 kg, center: [0, -1]}
joints:
  pin: {revolute: [ground, bob], at: [0, 0]}
"""


def expected(path):
    """The comments that a file of the corpus begins with."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        line[2:].replace("<kinds of joint>", ", ".join(kind.value for kind in JointKind))
        for line in lines[: next(i for i, line in enumerate(lines) if line[:1] != "#")]
    ]


def without_words_of_the_parser(line):
    """The compiled and the plain parser of PyYAML name the same slip in other words."""
    return re.sub(r"(this is not YAML:)[^;]*", r"\1", line)


def rejected(path):
    """The problems of a file."""
    with pytest.raises(ModelFileError) as caught:
        load(path)
    return list(caught.value.problems)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_corpus(path, monkeypatch):
    """Every problem of the file is reported, in order, as `file:line: key: what is wrong; what to do`."""
    monkeypatch.chdir(path.parent)
    found = rejected(path.name)
    wanted = [f"{path.name}:{line}" for line in expected(path)]
    assert list(map(without_words_of_the_parser, found)) == list(
        map(without_words_of_the_parser, wanted)
    )


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_messages_say_what_to_do(path):
    """A line, no markup, an advice or question after the fault."""
    for line in expected(path):
        assert line.isprintable()
        assert re.match(r"\d+: ", line)
        assert ";" in line or "?" in line, line


def test_plain_parser_gives_the_same_messages(monkeypatch):
    """Without the compiled parser the same files are rejected, for the same reasons."""
    monkeypatch.setattr(model_reader, "_LOADER", yaml.SafeLoader)
    for path in CORPUS[::3]:
        found = [line.split(f"{path.name}:")[1] for line in rejected(path)]
        if "not YAML" not in found[0]:
            assert found == expected(path)


def test_the_fault_free_file_is_read(tmp_path):
    """The file that the next tests spoil is good."""
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    assert load(path).bodies[0].mass == 1.0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", ": the file is empty"),
        (b"# only a comment\n", ": the file is empty"),
        (b"---\n...\n", ": the file is empty"),
        (GOOD.encode("utf-16"), ":1: this is UTF-16, UTF-32 or no text"),
        (GOOD.encode("utf-16-le"), ":1: this is UTF-16, UTF-32 or no text"),
        (GOOD.encode("utf-32"), ":1: this is UTF-16, UTF-32 or no text"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", ":1: byte 0x89 is not UTF-8"),
        (b"sarrus: 1\nname: \xe9\n", ":2: byte 0xe9 is not UTF-8"),
        (b"sarrus: 1\nname: a\x00b\n", ":2: character 0x00 cannot stand in a model file"),
        (b"sarrus: 1\nname: a\x1b[31mb\n", ":2: character 0x1b cannot stand in a model file"),
        (b"[" * 9_000_000, ":1: values are nested more than 24 deep"),
        (b"{a: " * 2_000_000, ":1: values are nested more than 24 deep"),
        (b"- " * 2_000_000, ":1: values are nested more than 24 deep"),
        pytest.param(
            b"[" + b"1," * 600_000 + b"1]",
            ":1: the file holds more than 500000 values",
            marks=pytest.mark.slow,
        ),
        (b"? " * 1_000_000, ":1: values are nested more than 24 deep"),
    ],
    ids=lambda value: repr(value[:12]) if isinstance(value, bytes) else "",
)
def test_content_that_is_no_model(tmp_path, content, why):
    """Encodings, binary data and endless nesting end with one message, at once."""
    path = tmp_path / "f.yaml"
    path.write_bytes(content)
    (line,) = rejected(path)
    assert line.startswith(f"{path}{why}")


def test_byte_order_mark_is_no_fault(tmp_path):
    """UTF-8 with a mark, and Windows line ends."""
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load(path).joints[0].name == "pin"


def test_a_huge_file_is_rejected_by_its_size(tmp_path):
    """100 MB are not read: the file is sparse, and reading it would give another message."""
    path = tmp_path / "huge.yaml"
    with open(path, "wb") as file:
        file.truncate(100_000_000)
    (line,) = rejected(path)
    assert "the file has 100 MB; at most 10 MB are read" in line


def test_path_tricks(tmp_path):
    """Folders, devices, loops, missing and unreadable files, NUL and other types."""
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    for path, why in (
        (tmp_path, "this is a folder"),
        ("", "this is a folder"),
        ("/dev/zero", "this is not a regular file"),
        (pipe, "this is not a regular file"),
        (loop, "cannot be read"),
        (tmp_path / "missing.yaml", "No such file"),
        (tmp_path / "good.yaml" / "below", "cannot be read"),
        ("a\0b.yaml", "cannot be read"),
        ("x" * 5000, "cannot be read"),
        (3, "cannot be read"),
        (None, "cannot be read"),
    ):
        (line,) = rejected(path)
        assert why in line
        assert line.isprintable()
        assert len(line) < 500


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path):
    """A file without permission."""
    path = tmp_path / "closed.yaml"
    path.write_text(GOOD)
    path.chmod(0)
    assert "Permission" in rejected(path)[0]


def test_many_problems_are_counted(tmp_path):
    """The error holds all of them, its text the first fifty."""
    path = tmp_path / "f.yaml"
    path.write_text(GOOD + "points:\n" + "".join(f"  p{i}: {{body: 1}}\n" for i in range(100)))
    with pytest.raises(MechanismError, match="200 problems in") as caught:
        load(path)
    assert len(caught.value.problems) == 200
    assert len(str(caught.value).splitlines()) == 52
    assert str(caught.value).endswith("and 150 more")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "data: this is nothing; begin with 'sarrus: 1'"),
        ([], "data: this is a list"),
        ({}, "data: there is no version"),
        ({"sarrus": 1, "gravity": [0, -1], "bodies": {1: {}}}, "data: bodies.1: 1 is not a name"),
        ({"sarrus": 1, "gravity": [0, object()], "bodies": {}}, "gravity: entry 2: <object"),
        ({"sarrus": 1, "gravity": [0, 10**400], "bodies": {}}, "inf is not finite"),
        ({"sarrus": 1, "gravity": (0, 1j), "bodies": {}}, "gravity: entry 2: 1j is not a number"),
    ],
)
def test_bad_data(data, why):
    """Plain data are rejected like files, without a line."""
    with pytest.raises(ModelFileError, match=re.escape(why)):
        from_data(data)


def test_a_body_that_no_joint_reaches_is_reported_with_its_line(tmp_path):
    """It is allowed: the file loads, and the remark has file, line and key."""
    from sarrus.mechanism import load_file

    path = tmp_path / "f.yaml"
    text = GOOD.replace("joints:", "  free: {mass: 1, center: [3, 3]}\njoints:")
    path.write_text(text)
    (line,) = load_file(path).remarks
    assert line == f"{path}:5: bodies.free: no joint reaches it, it moves freely"
    path.write_text(text + "  own: {revolute: [free, lost], at: [3, 3]}\n")
    path.write_text(
        path.read_text().replace("joints:", "  lost: {mass: 1, center: [3, 4]}\njoints:")
    )
    (line,) = load_file(path).remarks
    assert "bodies.free: joined to 'lost' but not to the ground, all move freely" in line
    assert to_data(load(path))["bodies"]["lost"]["mass"] == 1.0
