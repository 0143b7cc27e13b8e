"""Damaged and hostile versions of a file, at random: bytes, numbers, trees, containers, or what is in place."""

import gzip
import hashlib
import io
import json
import os
import re
import stat
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sarrus.hdf5 import SEALED

NUMBERS = (
    *(
        "0",
        "-1",
        "1e308",
        "-1e308",
        "1e-308",
        "5e-324",
        "nan",
        "inf",
        "-inf",
        ".nan",
        ".inf",
        "1e999",
    ),
    *(
        "1e16",
        "-0.0",
        "0.1",
        "2",
        "1e50",
        "1e-9",
        "9" * 400,
        "0x10",
        "1_000",
        "1e",
        "--1",
        "1,5",
        "007",
    ),
    *(str(2**31), str(2**63), str(-(2**63)), "1e5000", "true", "null", "\u0663", "1 m", "3 deg"),
)
WORDS = (
    *(
        "",
        " ",
        "ground",
        "a" * 10_000,
        "\x00",
        "\x1b[2J",
        "\u2028",
        "../../etc/passwd",
        "/dev/zero",
        "{{",
        "[[[[",
    ),
    *(
        "*x",
        "&a [*a]",
        "!!python/object:os.system",
        "<",
        "]]>",
        "&amp;",
        "\ufeff",
        "\ud7ff",
        "%s%n",
        "~",
        "|",
        "#",
    ),
    *("x: y: z", "- - -", "'", '"', "\\", "\t", "\r\n", "$(id)", "=1+1", "e\u0301", "\U0001f600"),
)
# values of trees: of other types, empty, deep, large
VALUES = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        10**30,
        -(10**30),
        0.5,
        1e308,
        -1e308,
        5e-324,
        1e-9,
        1e16,
        2.0**53,
    ),
    *(
        float("nan"),
        float("inf"),
        "",
        "x",
        "nan",
        "1e999",
        "a" * 10_000,
        "\x00\x1b",
        [],
        {},
        [[]],
        {"": None},
    ),
    *([0], [1, 2, 3], [1e308] * 3, ["x"] * 50, {"x": {"x": {"x": 1}}}, [None] * 3),
)
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def pick(rng, items):
    """One of the items."""
    return items[int(rng.integers(len(items)))]


def flip(rng, data):
    """Some bits inverted."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 4)) if data else 0):
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(data)


def cut(rng, data):
    """The end missing."""
    return data[: int(rng.integers(len(data) + 1))]


def drop(rng, data):
    """A piece missing."""
    at, length = int(rng.integers(len(data) + 1)), int(10 ** rng.uniform(0, 3))
    return data[:at] + data[at + length :]


def repeat(rng, data):
    """A piece again and again."""
    at, length = int(rng.integers(len(data) + 1)), int(10 ** rng.uniform(0, 2.5))
    return data[:at] + data[at : at + length] * int(rng.integers(2, 60)) + data[at:]


def insert(rng, data):
    """A word or random bytes in between."""
    at = int(rng.integers(len(data) + 1))
    new = pick(rng, WORDS).encode() if rng.random() < 0.6 else rng.bytes(int(rng.integers(1, 30)))
    return data[:at] + new + data[at:]


def blank(rng, data):
    """A piece overwritten with zeros."""
    at, length = int(rng.integers(len(data) + 1)), int(10 ** rng.uniform(0, 3))
    return data[:at] + bytes(len(data[at : at + length])) + data[at + length :]


def renumber(rng, data):
    """One of the numbers of a text replaced."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return insert(rng, data)
    one = pick(rng, found)
    return data[: one.start()] + pick(rng, NUMBERS).encode() + data[one.end() :]


def change_lines(rng, data):
    """A line missing, twice, or at the place of another."""
    lines = data.split(b"\n")
    at, other = (int(rng.integers(len(lines))) for _ in range(2))
    kind = int(rng.integers(3))
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at:at] = [lines[at]] * int(rng.integers(1, 5))
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines)


def swap_words(rng, data):
    """A word of the text at the place of another one."""
    words = list(re.finditer(rb"[\w.-]+", data))
    if len(words) < 2:
        return flip(rng, data)
    one, other = pick(rng, words), pick(rng, words)
    return data[: one.start()] + other.group() + data[one.end() :]


def recode(rng, data):
    """Another encoding of the same text."""
    text = data.decode("utf-8", "replace")
    return text.encode(pick(rng, ("utf-16", "utf-32", "latin-1", "utf-8-sig", "cp037")), "replace")


def nest(rng, data):
    """Brackets in brackets."""
    deep = int(10 ** rng.uniform(1, 5))
    return pick(rng, (b"[", b"{", b"- ", b"<a>", b"(", b'{"a":', b"\t")) * deep + data


def keep(rng, data):
    """The file as it was."""
    return data


BYTES = (flip, flip, cut, drop, repeat, insert, blank)
TEXT = (*BYTES, *(renumber,) * 8, *(change_lines,) * 3, *(swap_words,) * 4, recode, nest)


def places_of(tree):
    """Every place of a tree of lists and mappings: container and key."""
    found, todo = [], [tree]
    while todo:
        node = todo.pop()
        if not isinstance(node, dict | list):
            continue
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            found.append((node, key))
            todo.append(node[key])
    return found


def change_tree(rng, tree):
    """A few values replaced, deleted, renamed, repeated or moved, in place."""
    for _ in range(int(rng.integers(1, 3))):
        found = places_of(tree)
        if not found:
            return tree
        (node, key), kind = pick(rng, found), int(rng.integers(6))
        if kind == 0:
            del node[key]
        elif kind == 1 and isinstance(node, dict):
            node[pick(rng, ("x", "", "name", "\x1b", "a" * 5000))] = node.pop(key)
        elif kind == 2 and isinstance(node, list):
            node[key:key] = [node[key]] * int(rng.integers(1, 40))
        elif kind == 3:
            other, name = pick(rng, found)
            node[key] = json.loads(json.dumps(other[name])) if name in range_of(other) else None
        elif isinstance(node[key], int | float) and not isinstance(node[key], bool) and kind == 4:
            node[key] = node[key] * pick(rng, (-1, 0, 1e-3, 1e3, 1e9, 1e150))
        else:
            node[key] = pick(rng, VALUES)
    return tree


def range_of(node):
    """The keys of a container."""
    return node if isinstance(node, dict) else range(len(node))


def json_tree(rng, data):
    """JSON of the same kind with other values."""
    return json.dumps(change_tree(rng, json.loads(data))).encode()


def yaml_tree(rng, data):
    """YAML of the same kind with other values."""
    return yaml.safe_dump(change_tree(rng, yaml.safe_load(data)), sort_keys=False).encode()


def xml_text(rng, data):
    """An attribute or an element of XML changed, missing, twice or inside itself."""
    kind = int(rng.integers(4))
    pattern = rb'[\w:]+="[^"]*"' if kind < 2 else rb"<\w[^<>]*?/>|<(\w+)[^<>]*>[^<>]*</\1>"
    found = list(re.finditer(pattern, data))
    if not found:
        return renumber(rng, data)
    one = pick(rng, found)
    text = one.group()
    if kind == 0:
        new = b""
    elif kind == 1:
        new = text.split(b"=")[0] + b'="' + pick(rng, (*NUMBERS, *WORDS)).encode() + b'"'
    elif kind == 2:
        new = text * int(rng.integers(0, 30))
    else:
        new = pick(rng, found).group()
    return data[: one.start()] + new + data[one.end() :]


def hdf5_tree(rng, data):
    """HDF5 without its digest, as a stranger may have made it: a dataset or an attribute changed."""
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        file.attrs.pop(SEALED, None)
        names = []
        file.visit(names.append)
        for _ in range(int(rng.integers(1, 3))):
            _change_hdf5(rng, file, pick(rng, names))
    return buffer.getvalue()


def hdf5_bytes(rng, data):
    """HDF5 without its digest, damaged: what the library itself has to cope with."""
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        file.attrs.pop(SEALED, None)
    return pick(rng, (flip, blank, blank, drop, insert))(rng, buffer.getvalue())


def _change_hdf5(rng, file, name):
    if name not in file:
        return
    kind = int(rng.integers(7))
    if kind == 0 or not isinstance(file[name], h5py.Dataset):
        del file[name]
    elif kind == 1:
        file.attrs[pick(rng, list(file.attrs))] = pick(rng, (b"x", 3, 1e308, "", [1, 2]))
    elif kind == 2:
        file[f"{name} x"] = file[name]
    else:
        values = file[name][()]
        attributes = dict(file[name].attrs)
        del file[name]
        file[name] = _other_array(rng, values, kind)
        file[name].attrs.update(attributes)


def _other_array(rng, values, kind):
    """Numbers of another type, shape, size or value; text with other words."""
    if (
        not isinstance(values, np.ndarray | np.generic)
        or np.asarray(values).dtype.kind not in "fiub"
    ):
        text = values if isinstance(values, bytes) else str(values).encode()
        return np.bytes_(renumber(rng, text).replace(b"\0", b"") or b"x")
    values = np.array(values)
    if kind == 3:
        return values.astype(pick(rng, ("i1", "f4", "u8", "S5", "c16", "f8")))
    if kind == 4:
        return values.reshape(-1)[: int(rng.integers(values.size + 1))]
    if kind == 5:
        return np.zeros((*values.shape, 2))
    if values.size:
        odd = (0, -1, 1, 127, *((np.nan, np.inf, 1e308) if values.dtype.kind == "f" else ()))
        values.reshape(-1)[int(rng.integers(values.size))] = pick(rng, odd)
    return values


def zip_tree(rng, data):
    """A packed submission with changed members, whose checksums may fit; or with odd members besides."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name, kind = pick(rng, list(members)), int(rng.integers(6))
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[pick(rng, ("../../evil", "/etc/evil", "a" * 300, "run.json/", "x\\y"))] = b"x"
    elif kind == 2:
        members[name] = bytes(60_000_000)
    else:
        change = pick(rng, (json_tree, renumber)) if name.endswith(".json") else pick(rng, TEXT)
        members[name] = change(rng, members[name])
    if rng.random() < 0.8 and "checksums.txt" in members:
        sums = (
            f"{hashlib.sha256(x).hexdigest()}  {n}\n"
            for n, x in members.items()
            if n != "checksums.txt"
        )
        members["checksums.txt"] = "".join(sums).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for n, x in members.items():
            archive.writestr(n, x)
    return buffer.getvalue()


def parquet_tree(rng, data):
    """A table of Parquet with other columns, types, rows or numbers."""
    table = pq.read_table(io.BytesIO(data))
    name, kind = pick(rng, table.column_names), int(rng.integers(6))
    at = table.column_names.index(name)
    column = table.column(name)
    if kind == 0:
        table = table.drop_columns([name])
    elif kind == 1:
        table = table.slice(0, int(rng.integers(len(table) + 1)))
    elif kind == 2:
        table = table.set_column(at, name, column.cast(pa.string()))
    elif kind == 3:
        table = table.rename_columns(["x" if n == name else n for n in table.column_names])
    elif kind == 4:
        table = table.set_column(at, name, pa.array([[None]] * len(table)))
    else:
        values = column.to_pylist()
        values[int(rng.integers(len(values)))] = None
        table = table.set_column(at, name, pa.array(values, column.type))
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def packed_text(rng, data):
    """Text in gzip, changed inside."""
    return gzip.compress(pick(rng, TEXT)(rng, gzip.decompress(data)))


# how files of an ending are changed besides their bytes
TREES = {
    ".json": (*TEXT, *(json_tree,) * 20),
    ".yaml": (*TEXT, *(yaml_tree,) * 20),
    ".xml": (*TEXT, *(xml_text,) * 15),
    ".urdf": (*TEXT, *(xml_text,) * 15),
    ".h5": (*BYTES, *(hdf5_tree,) * 15, *(hdf5_bytes,) * 5),
    ".zip": (*BYTES, *(zip_tree,) * 15),
    ".parquet": (*BYTES, *(parquet_tree,) * 10),
    "": BYTES,
    ".npz": BYTES,
    ".gz": (*BYTES, *(packed_text,) * 10),
}


def change_content(rng, path):
    """Change the bytes of a file; returns the name of the way."""
    way, data = pick(rng, TREES.get(path.suffix, TEXT)), path.read_bytes()
    try:
        changed = way(rng, data)
    except Exception:
        # damaged before, so that no library reads it
        changed = flip(rng, data)
    path.write_bytes(changed)
    return way.__name__


def change_place(rng, path, outside):
    """Put something else where a file was; returns what."""
    mode = stat.S_IMODE(path.stat().st_mode)
    content = path.read_bytes()
    path.unlink()
    kind = pick(
        rng,
        (
            "nothing",
            "empty",
            "folder",
            "link",
            "loop",
            "dangling",
            "pipe",
            "device",
            "large",
            "rights",
        ),
    )
    if kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(outside)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "dangling":
        path.symlink_to(outside.parent / "nowhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to(pick(rng, ("/dev/zero", "/dev/null", "/dev/stdin", "/proc/self/mem")))
    elif kind == "large":
        path.write_bytes(content)
        os.truncate(path, 3_000_000_000)
    elif kind == "rights":
        path.write_bytes(content)
        path.chmod(pick(rng, (0, 0o200, 0o777, mode)))
    return kind
