"""Access control of the workbench: the session token, and the one-time codes that are exchanged for it.

The token is sent as a cookie only: no address, title, log or command line contains it. A browser gets it in
exchange for a code that works once. To open a browser, the code is stored in a file that only this user can read,
because command lines are visible to every user of the machine. Whenever the code of the file is used, the file
gets a new one.
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
# Largest number of printed and unused codes.
MOST_CODES = 64


class Guard:
    """Accepts only requests to this server's own name, from its own page, by clients that hold the token.

    Another host name would be a foreign page whose name resolves to this machine (DNS rebinding); another origin
    would be a foreign page that sends requests to it.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(24)
        self.codes: list[str] = []
        self._lock = threading.Lock()

    @property
    def origin(self) -> str:
        """Common prefix of the addresses of this server."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def cookie(self) -> str:
        """Name of the cookie; it differs for servers on other ports."""
        return f"sarrus-{self.port}"

    def make_address(self) -> str:
        """Return an address that opens the page once."""
        with self._lock:
            self.codes = [*self.codes[1 - MOST_CODES :], secrets.token_urlsafe(24)]
            return f"{self.origin}/?code={self.codes[-1]}"

    def is_unused(self, address: str) -> bool:
        """Return whether an address can still open the page."""
        return any(address == f"{self.origin}/?code={code}" for code in self.codes)

    def redeem(self, query: str) -> bool:
        """Return whether the query of an address contains an unused code, and mark it as used."""
        given = "".join(parse_qs(query).get("code", ())).encode()
        with self._lock:
            found = [code for code in self.codes if hmac.compare_digest(code.encode(), given)]
            self.codes = [code for code in self.codes if code not in found]
        return bool(found)

    def is_foreign(self, headers: Any, needs_origin: bool = False) -> str:
        """Return why a request is rejected: another server or page; needs_origin: our origin is required."""
        own = [f"{name}:{self.port}" for name in (LOOPBACK, "localhost")]
        # Browsers never send several headers of a kind.
        host, origins = headers.get_all("Host", []), headers.get_all("Origin", [])
        if len(host) != 1 or host[0] not in own:
            return "this server has another name"
        if origins and origins != [f"http://{host[0]}"]:
            return "the request comes from another page"
        if needs_origin and not origins:
            return "the request does not say which page it comes from"
        return ""

    def is_known(self, headers: Any) -> bool:
        """Return whether a request contains the token."""
        try:
            cookies = SimpleCookie("; ".join(headers.get_all("Cookie", [])))
        except CookieError:
            return False
        given = [m.value for name, m in cookies.items() if name == self.cookie]
        return any(hmac.compare_digest(word.encode(), self.token.encode()) for word in given)


class OpeningPage:
    """A file in a private folder that redirects a browser to the workbench; its address works once."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        # Mode 0700.
        self.folder = Path(tempfile.mkdtemp(prefix="sarrus-view-"))
        self.address = ""
        self.renew()

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.folder / OPENING

    def renew(self) -> None:
        """Write the file with a new code if the current one was used."""
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
    """Return a page that redirects to an address, without a script and without a referrer."""
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
