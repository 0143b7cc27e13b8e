"""Who may talk to the workbench: the session token, and the one-time codes that are exchanged for it.

The token is sent as a cookie only: no address, title, log or command line holds it. A browser gets it in exchange
for a code that works once. To open a browser the code stands in a file that only this user can read, since command
lines are visible to every user of the machine; each time the code of the file is used, the file gets a new one.
"""

from __future__ import annotations

import hmac
import secrets
import tempfile
import threading
from contextlib import suppress
from html import escape
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from ..disk import Directory

LOOPBACK = "127.0.0.1"
OPENING = "open.html"
# codes that were printed and not used
MOST_CODES = 64


class Guard:
    """Answers only requests for this server's own name, from its own page, by clients that hold the token.

    A name of another host would be a stranger's page that leads its name to this machine; another origin a
    stranger's page that talks to it.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(24)
        self.codes: list[str] = []
        self._lock = threading.Lock()

    @property
    def origin(self) -> str:
        """What addresses of this server begin with."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def cookie(self) -> str:
        """The name of the cookie: servers on other ports have others."""
        return f"sarrus-{self.port}"

    def make_address(self) -> str:
        """An address that opens the page once."""
        with self._lock:
            self.codes = [*self.codes[1 - MOST_CODES :], secrets.token_urlsafe(24)]
            return f"{self.origin}/?code={self.codes[-1]}"

    def is_unused(self, address: str) -> bool:
        """Whether an address still opens the page."""
        return any(address == f"{self.origin}/?code={code}" for code in self.codes)

    def redeem(self, query: str) -> bool:
        """Whether the query of an address holds a code that was not used before; now it is."""
        given = "".join(parse_qs(query).get("code", ())).encode()
        with self._lock:
            found = [code for code in self.codes if hmac.compare_digest(code.encode(), given)]
            self.codes = [code for code in self.codes if code not in found]
        return bool(found)

    def is_foreign(self, headers: Any, asks: bool = False) -> str:
        """Why a request is not meant for this server or comes from another page; asks: only our page does."""
        own = [f"{name}:{self.port}" for name in (LOOPBACK, "localhost")]
        # several headers of a kind are none that a browser sends
        host, origins = headers.get_all("Host", []), headers.get_all("Origin", [])
        if len(host) != 1 or host[0] not in own:
            return "this server has another name"
        if origins and origins != [f"http://{host[0]}"]:
            return "the request comes from another page"
        if asks and not origins:
            return "the request does not say which page it comes from"
        return ""

    def is_known(self, headers: Any) -> bool:
        """Whether a request holds the token."""
        try:
            cookies = SimpleCookie("; ".join(headers.get_all("Cookie", [])))
        except CookieError:
            return False
        given = [m.value for name, m in cookies.items() if name == self.cookie]
        return any(hmac.compare_digest(word.encode(), self.token.encode()) for word in given)


class OpeningPage:
    """A file that leads a browser to the workbench, in a folder of this user alone; its address works once."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        # of mode 0700
        self.folder = Path(tempfile.mkdtemp(prefix="sarrus-view-"))
        self.address = ""
        self.renew()

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / OPENING

    def renew(self) -> None:
        """Write the file with a new code, if that of the present one was used."""
        if self.guard.is_unused(self.address):
            return
        self.address = self.guard.make_address()
        with Directory(self.folder) as folder:
            folder.write(OPENING, forward(self.address).encode(), mode=0o600)

    def close(self) -> None:
        """Remove the file and its folder."""
        with suppress(OSError):
            self.path.unlink()
            self.folder.rmdir()


def forward(address: str) -> str:
    """A page that leads to an address, without a script and without telling where from."""
    shown = escape(address)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; form-action 'none'; base-uri 'none'">
<meta http-equiv="refresh" content="0; url={shown}">
<title>Sarrus</title>
</head>
<body><a href="{shown}" rel="noreferrer">to the workbench</a></body>
</html>
"""
