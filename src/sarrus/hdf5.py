"""HDF5 files: built in memory, ended by a digest of their bytes, and read within bounds.

HDF5 allows links to other files, to other objects and back to parent groups, datasets whose bytes are in another
file, and datasets of any size that take no space. Our files have none of these, and an untrusted file must not
make the reader do more than its size allows: every object is reached once, by a hard link, at limited depth, and
the total size to be read is added up before any data are read.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

if TYPE_CHECKING:
    import h5py

# attribute of files that end with a digest, the first bytes of the digest, and those of the signature before it
SEALED, SEAL, SIGNATURE = "sealed", b"\nsarrus sha256 ", b"\nsarrus hmac "
SEAL_BYTES, SIGNATURE_BYTES = len(SEAL) + 64, len(SIGNATURE) + 64
# bytes hashed at a time
PIECE = 1 << 20
# bytes that one byte of a file may expand to: the maximum of gzip
MOST_EXPANDED = 1100
# depth of nested groups: ours have half as many
MOST_DEPTH = 16
# types of numbers in arrays
NUMBERS = frozenset(map(np.dtype, ("float64", "float32", "int64", "uint8", "bool")))


class HDF5Error(ValueError):
    """A file that is not HDF5, was changed, or has unexpected objects.

    The message says which, without the path of the file.
    """


def library() -> Any:
    """h5py, which loads slowly; not by `lazy.py`, since the reader of foreign files loads this module alone."""
    import h5py

    return h5py


def make_hdf5(fill: Callable[[h5py.File], None]) -> memoryview:
    """The bytes of an HDF5 file that `fill` writes into.

    It is built in memory: if the disk is full when HDF5 closes a file, a signal kills the process.
    """
    return _make(fill).getbuffer()


def _make(fill: Callable[[h5py.File], None]) -> io.BytesIO:
    content = io.BytesIO()
    with library().File(content, "w") as file:
        fill(file)
    return content


def make_sealed(fill: Callable[[h5py.File], None], key: bytes) -> memoryview:
    """The same with a signature by a secret key and a digest at its end, which `open_sealed` compares."""

    def fill_sealed(file: h5py.File) -> None:
        file.attrs[SEALED] = True
        fill(file)

    content = _make(fill_sealed)
    digest = hashlib.sha256(content.getbuffer())
    signature = _signature(digest.digest(), key)
    digest.update(signature)
    content.seek(0, os.SEEK_END)
    content.write(signature + SEAL + digest.hexdigest().encode())
    return content.getbuffer()


def _signature(digest: bytes, key: bytes) -> bytes:
    return SIGNATURE + hmac.new(key, digest, "sha256").hexdigest().encode()


@contextmanager
def open_sealed(
    path: Path, verify: bool, key: bytes, try_first: Callable[[], None]
) -> Iterator[h5py.File]:
    """A file to read; verify: compare its bytes with the digest stored with them, if there is one.

    key: the secret with which this user signs files; try_first: called before a file without that signature is
    passed to the HDF5 library, which damaged or malicious bytes can make loop forever.
    """
    with open(path, "rb") as stream:
        if not verify:
            with open_stream(stream) as file:
                yield file
            return
        sealed, signed = _read_seal(stream, key)
        if not signed:
            try_first()
        with open_stream(stream) as file:
            if not sealed and SEALED in file.attrs:
                raise _changed()
            yield file


def open_stream(stream: BinaryIO) -> h5py.File:
    """An HDF5 file to read; raises HDF5Error if it is none."""
    try:
        # HDF5 ignores what follows its own bytes
        return library().File(stream, "r")
    except OSError as error:
        raise HDF5Error(
            f"it is not an HDF5 file, or damaged ({str(error).splitlines()[0]})"
        ) from error


def _changed() -> HDF5Error:
    return HDF5Error(
        "it was changed or damaged since it was written: its bytes do not have their digest; write it again, or "
        "read it with verify=False"
    )


def _read_seal(stream: BinaryIO, key: bytes) -> tuple[bool, bool]:
    """Whether a file ends with a digest, and whether a key signed it; raises HDF5Error if it was changed."""
    size = stream.seek(0, os.SEEK_END) - SEAL_BYTES
    if size < 0:
        return False, False
    stream.seek(size)
    seal = stream.read()
    if not seal.startswith(SEAL):
        return False, False
    # the signature is that of the bytes before it, the digest that of both
    body = max(size - SIGNATURE_BYTES, 0)
    stream.seek(0)
    found = hashlib.sha256()
    for start in range(0, body, PIECE):
        found.update(stream.read(min(PIECE, body - start)))
    expected, signature = _signature(found.digest(), key), stream.read(size - body)
    found.update(signature)
    if seal != SEAL + found.hexdigest().encode():
        raise _changed()
    return True, hmac.compare_digest(signature, expected)


@dataclass(frozen=True)
class GroupNode:
    """A group that was scanned: its node, and its members by name."""

    node: h5py.Group
    members: dict[str, GroupNode | Leaf]

    def __getitem__(self, name: str) -> GroupNode | Leaf:
        if name not in self.members:
            raise HDF5Error(f"'{self.node.name.rstrip('/')}/{name}' is missing")
        return self.members[name]

    def word(self, name: str) -> str:
        """A text attribute."""
        value = self.node.attrs.get(name)
        if not isinstance(value, str):
            raise HDF5Error(f"'{self.node.name}' has no '{name}'")
        return value


@dataclass(frozen=True)
class Leaf:
    """A dataset that was scanned and may be read."""

    node: h5py.Dataset

    def text(self) -> str:
        """Its contents, if it is a single text."""
        if self.node.shape != () or self.node.dtype.kind != "O":
            raise HDF5Error(f"'{self.node.name}' is not a text")
        return str(self.node.asstr()[()])

    def numbers(self) -> Any:
        """Its contents, if they are plain numbers."""
        if self.node.dtype not in NUMBERS or self.node.shape is None:
            raise HDF5Error(f"'{self.node.name}' holds no plain numbers, but {self.node.dtype}")
        return self.node[()]


@dataclass
class _Scan:
    """State of a scan: addresses of objects, and the bytes they occupy and claim."""

    seen: set[int] = field(default_factory=set)
    stored: int = 0
    claimed: int = 0


def scan(file: h5py.File, names: Iterable[str], size: int, room: Callable[[], float]) -> GroupNode:
    """Scan some members of a file completely before any of their data are read; raises HDF5Error.

    size: of the file [bytes]; room: how many bytes may be read.
    """
    found = _Scan({_address(file)})
    members = {name: _open(file, name, 1, found) for name in names}
    if found.stored > size:
        raise HDF5Error(f"its arrays take {found.stored} bytes, more than it has ({size})")
    # querying free memory takes longer than reading a small file
    if found.claimed > PIECE and found.claimed > room():
        raise HDF5Error(f"its arrays take {found.claimed / 1e9:.3g} GB, more than memory is free")
    return GroupNode(file, members)


def _open(group: h5py.Group, name: str, depth: int, found: _Scan) -> GroupNode | Leaf:
    where = f"'{group.name.rstrip('/')}/{name}'"
    if depth > MOST_DEPTH:
        raise HDF5Error(f"{where} is nested deeper than {MOST_DEPTH} groups")
    links = group.id.links
    if not links.exists(name.encode()):
        raise HDF5Error(f"{where} is missing")
    if links.get_info(name.encode()).type != library().h5l.TYPE_HARD:
        raise HDF5Error(f"{where} is a link to another place")
    node = group[name]
    address = _address(node)
    if address in found.seen:
        raise HDF5Error(f"{where} is also found under another name")
    found.seen.add(address)
    if isinstance(node, library().Group):
        return GroupNode(node, {below: _open(node, below, depth + 1, found) for below in node})
    if not isinstance(node, library().Dataset):
        raise HDF5Error(f"{where} is neither a group nor an array")
    _count(node, where, found)
    return Leaf(node)


def _address(node: Any) -> int:
    return int(library().h5o.get_info(node.id).addr)


def _count(node: h5py.Dataset, where: str, found: _Scan) -> None:
    """Add the size of an array; reject one whose bytes are elsewhere, or fewer than it claims."""
    if node.external or node.is_virtual:
        raise HDF5Error(f"{where} takes its numbers from another file")
    stored, claimed = node.id.get_storage_size(), node.nbytes
    if claimed > MOST_EXPANDED * stored:
        raise HDF5Error(f"{where} claims {claimed} bytes, more than the file can hold")
    found.stored += stored
    found.claimed += claimed
