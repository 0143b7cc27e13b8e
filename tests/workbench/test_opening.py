"""How a browser is opened: what stands on its command line, in the terminal and in the file that leads it on."""

import http.client
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from browser import PATIENCE as BROWSER_PATIENCE
from browser import open_browser

# ends a test that hangs [s]
PATIENCE = 600
# what is started instead of a browser: it writes how to the pipe
STAND_IN = "#!/bin/sh\nprintf '%s\\n' \"$*\" > {pipe}\n"

pytestmark = pytest.mark.slow


@pytest.fixture
def started(tmp_path):
    """`sarrus view` in a process, what its browser was started with, and all that it prints, in a file."""
    pipe, script = tmp_path / "pipe", tmp_path / "browser.sh"
    os.mkfifo(pipe)
    script.write_text(STAND_IN.format(pipe=pipe))
    script.chmod(0o700)
    printed = tmp_path / "printed.txt"
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from sarrus.cli import main; sys.argv[0] = 'sarrus'; main()"
    )
    words = ["view", "simple-pendulum", "--port", "0"]
    with open(printed, "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *words],
            stdout=log,
            stderr=log,
            env={**os.environ, "BROWSER": f"{script} %s"},
        )
    try:
        # opening waits until the stand-in writes
        command = pipe.read_text()
        yield process, command, printed
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def get(address, **headers):
    """Status, text and headers of an answer."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    connection.request("GET", f"{parts.path}?{parts.query}".rstrip("?"), headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), answer.headers
    connection.close()
    return found


def test_no_secret_on_a_command_line_or_in_a_log(started):
    """The browser gets the path of a private file; its code opens the workbench, and is printed nowhere."""
    process, command, printed = started
    (uri,) = command.split()
    assert uri.startswith("file://")
    path = Path(unquote(urlsplit(uri).path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    address = re.search(r'url=([^"]+)"', path.read_text())[1]
    secret = address.partition("code=")[2]
    assert len(secret) == 32
    status, text, headers = get(address)
    assert status == 200
    token = re.match(r"sarrus-\d+=([^;]+)", headers["Set-Cookie"])[1]
    cookie = headers["Set-Cookie"].partition(";")[0]
    status, page, _ = get(address.partition("?")[0], Cookie=cookie)
    assert status == 200
    assert get(address)[0] == 403
    fresh = re.search(r'url=([^"]+)"', path.read_text())[1]
    assert fresh != address
    own = Path(f"/proc/{process.pid}/cmdline")
    lines = own.read_text() if own.exists() else ""
    for where in (command, lines, printed.read_text(), text, page):
        for word in (secret, token, fresh.partition("code=")[2]):
            assert word not in where


def test_the_private_folder_is_removed_at_the_end(started):
    """Ctrl-C ends the server, and its file is gone."""
    process, command, _ = started
    path = Path(unquote(urlsplit(command.split()[0]).path))
    assert path.exists()
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0
    assert not path.parent.exists()


def test_a_real_browser_is_led_on(started):
    """From the file to the page: the strict cookie arrives, and no code is left in the address or the referrer."""
    _, command, _ = started
    with open_browser() as browser:
        page = browser.new_page()
        page.set_default_timeout(BROWSER_PATIENCE)
        referrers = []
        page.on("request", lambda request: referrers.append(request.headers.get("referer", "")))
        page.goto(command.split()[0])
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", page.url)
        assert "code" not in page.title()
        page.reload()
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        assert not any("code=" in word or word.startswith("file") for word in referrers)
        assert page.evaluate("document.referrer") == ""
