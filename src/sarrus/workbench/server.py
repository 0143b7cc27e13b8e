"""The server of the workbench: loopback only, and only for clients that hold the session token.

Other users of the machine and foreign pages in the same browser can reach its port: a request is answered only if
it addresses this server by its own name, comes from its own page, and contains the token (`Guard`). Requests of
one kind are answered one after another, and only the newest of each page: older ones are cancelled, even while
they are being answered.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .. import problems
from ..mechanism import MechanismError, to_data
from ..mechanism.files import to_text
from ..mechanism.files.model_reader import MOST_BYTES
from ..names import short
from ..progress import listening
from ..settings import check_seconds
from .answers import Desk, sentences_of
from .guard import LOOPBACK, Guard, OpeningPage, forward
from .live_page import POLICY, make_page, make_scripts
from .parameters import Record, find_options, fitting_values, with_values
from .saving import OpenedFile

PORT, MOST_PORT = 8080, 65535
# Shows tracebacks, as in commands.
DEBUG = "SARRUS_DEBUG"
# Number of pages whose request numbers are remembered.
MOST_PAGES = 64
# The connection of a client that sends nothing is closed after this time [s].
PATIENCE = 60.0
UNKNOWN = "an address opens the workbench once; open the file that `sarrus view` printed, or start it again"


class AbandonedError(Exception):
    """A newer request of the page arrived, so this answer is no longer needed."""


class Turns:
    """Runs one request of a kind at a time; of pending and running requests only each page's newest counts."""

    def __init__(self) -> None:
        self.places: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self.newest: dict[str, int] = {}
        self.guard = threading.Lock()

    def announce(self, page: str, number: int) -> None:
        """Register a request; older ones of its page need no answer any more."""
        with self.guard:
            self.newest[page] = max(number, self.newest.pop(page, number))
            while len(self.newest) > MOST_PAGES:
                del self.newest[next(iter(self.newest))]

    def check(self, page: str, number: int) -> None:
        """Raise AbandonedError if a newer request of the page has arrived."""
        if self.newest.get(page, number) > number:
            raise AbandonedError

    @contextmanager
    def turn(self, page: str, number: int, kind: str) -> Iterator[None]:
        """Wait for the turn among requests of a kind; the body is cancelled as soon as a newer one arrives."""
        with self.guard:
            place = self.places[kind]
        with place:
            self.check(page, number)
            with listening(lambda done, total: self.check(page, number)):
                yield


class Workbench:
    """A server that shows a mechanism and answers the requests of its page.

    data: data of a model file, numbers in SI; opened: the file that `Save` writes; duration [s]: None for the
    duration in the data; port: 0 for any free port; problem: its id and options, if the data come from a problem.
    """

    def __init__(
        self,
        data: Record,
        opened: OpenedFile,
        duration: float | None = None,
        port: int = PORT,
        problem: tuple[str, dict[str, float]] | None = None,
    ) -> None:
        self.problem = problem
        self.turns, self.desk = Turns(), Desk()
        self.data, self.opened = data, opened
        self.duration = None if duration is None else check_seconds("duration", duration)
        self.answers: dict[str, Callable[[Record], Record]] = {
            "/solve": self.desk.solve,
            "/design": self.desk.design,
            "/pull": self.desk.pull,
            "/edit": self.desk.edit,
            "/from-here": self.desk.from_here,
            "/problem": self.remade,
            "/text": self.text,
            "/save": self.save,
        }
        if not 0 <= port <= MOST_PORT:
            raise ValueError(f"port {short(port)}; give a number from 0 to {MOST_PORT}")
        try:
            self.server = _Server((LOOPBACK, port), _Handler)
        except OSError as error:
            raise ValueError(
                f"port {port} of this machine cannot be used ({error.strerror}); give another with --port, or 0"
            ) from None
        self.server.workbench = self
        self.guard = Guard(self.port)
        self.opening = OpeningPage(self.guard)

    @property
    def port(self) -> int:
        """Port of the server."""
        return int(self.server.server_address[1])

    def enter(self, query: str) -> bool:
        """Return whether the query of an address admits a browser; each code works once."""
        if not self.guard.redeem(query):
            return False
        with suppress(OSError):
            # In case of a full disk: the page is opened anyway.
            self.opening.renew()
        return True

    def serve(self) -> None:
        """Answer requests until stopped."""
        self.server.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        """Stop the server, from a thread other than the serving one."""
        self.server.shutdown()

    def close(self) -> None:
        """Release the port."""
        self.server.server_close()
        self.opening.close()

    def page(self) -> str:
        """Return the page with its initial document."""
        path = self.opened.path
        file = "" if path is None else path.name
        document = {"data": self.data, "duration": self.duration, "file": file}
        if self.problem is not None:
            document["problem"] = {"sliders": [asdict(p) for p in find_options(*self.problem)]}
        return make_page(document)

    def remade(self, question: Record) -> Record:
        """Return the document of the problem with other options, and the values whose paths still exist in it."""
        if self.problem is None:
            raise MechanismError("no problem is opened, so it has no options")
        name, options = self.problem
        made = problems.get(name, **{**options, **(question.get("options") or {})})
        data = to_data(made.mechanism())
        return {"data": data, "values": fitting_values(data, question.get("values") or {})}

    def text(self, question: Record) -> Record:
        """Return the document as the text of a model file."""
        return {"text": to_text(with_values(question["data"], question.get("values") or {}))}

    def save(self, question: Record) -> Record:
        """Write the document to the open file."""
        force = question.get("force") is True
        said = self.opened.write(question["data"], question.get("values") or {}, force)
        return {"notes": said}

    def answer(self, target: str, question: Record) -> Record:
        """Answer a request; errors are returned as sentences, and an outdated request is dropped."""
        page, number = f"{question.get('page')} {target}", question.get("number")
        if not isinstance(number, int) or isinstance(number, bool):
            raise MechanismError("a question has a number; the page counts them")
        self.turns.announce(page, number)
        try:
            with self.turns.turn(page, number, f"{target} {bool(question.get('full'))}"):
                return {"number": number, **self.answers[target](question)}
        except AbandonedError:
            return {"number": number, "stale": True}
        except (MechanismError, ValueError) as error:
            return {"number": number, "errors": sentences_of(error)}
        except Exception as error:
            # Data that our page never sends, or a bug: the page shows the message and continues.
            why = f"this cannot be answered: {type(error).__name__} {error}"
            return {"number": number, "errors": [why]}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A port that was just released may be reused, one that is in use may not.
    allow_reuse_address = True
    workbench: Workbench

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Close the connection of a request that fails; clients must not be able to print to the terminal."""
        if os.environ.get(DEBUG, "") not in ("", "0"):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Reads requests; all decisions are made in `Workbench` and `Guard`."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "sarrus", ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Send the page and its scripts; an unused code is exchanged for the token."""
        bench, (path, query) = self.server.workbench, self._target()
        guard = bench.guard
        if why := guard.is_foreign(self.headers):
            self._send(403, f"{why}\n", "text/plain")
        elif path == "/" and bench.enter(query):
            # The browser sends a strict cookie only on navigation from this server's own page.
            cookie = f"{guard.cookie}={guard.token}; HttpOnly; SameSite=Strict; Path=/"
            self._send(200, forward("/"), "text/html", cookie)
        elif not guard.is_known(self.headers):
            self._send(403, f"{UNKNOWN}\n", "text/plain")
        elif path == "/":
            self._send(200, bench.page(), "text/html")
        elif path in make_scripts():
            self._send(200, make_scripts()[path], "text/javascript")
        else:
            self._send(404, "there is nothing at this address\n", "text/plain")

    def do_POST(self) -> None:
        """Answer a request of the page: JSON in, JSON out."""
        bench, (path, _) = self.server.workbench, self._target()
        if why := bench.guard.is_foreign(self.headers, needs_origin=True):
            self._reject(403, why)
        elif not bench.guard.is_known(self.headers):
            self._reject(403, UNKNOWN)
        elif path not in bench.answers:
            self._reject(404, "there is nothing at this address")
        elif why := self._wrong_size():
            self._reject(413, why)
        else:
            question = self._question()
            if question is None:
                self._reject(400, "a question is a JSON object")
                return
            try:
                answer = bench.answer(path, question)
            except MechanismError as error:
                self._reject(400, str(error))
                return
            text = json.dumps(answer, separators=(",", ":"), allow_nan=False)
            self._send(200, text, "application/json")

    def _target(self) -> tuple[str, str]:
        """Return path and query of the request; empty if it is malformed, as in `http://[`."""
        try:
            parts = urlsplit(self.path)
        except ValueError:
            return "", ""
        return parts.path, parts.query

    def _wrong_size(self) -> str:
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") or not re.fullmatch("[0-9]{1,12}", length):
            return "a question says how long it is"
        return f"more than {MOST_BYTES} bytes are not read" if int(length) > MOST_BYTES else ""

    def _question(self) -> Record | None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            found = json.loads(body, parse_constant=_no_number)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def _reject(self, status: int, why: str) -> None:
        # The unread rest of the request would be parsed as the next one.
        self.close_connection = True
        self._send(status, json.dumps({"errors": [why]}), "application/json")

    def _send(self, status: int, text: str, kind: str, cookie: str = "") -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        if cookie:
            self.send_header("Set-Cookie", cookie)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing, because addresses contain codes."""


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")
