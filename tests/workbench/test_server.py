"""The server: which clients it answers, what it rejects, that only the newest request counts, saving."""

import http.client
import json
import os
import socket
import stat
import threading
from contextlib import suppress

import pytest

import sarrus
from builders import n_four_bar
from sarrus import progress
from sarrus.mechanism.files import load, to_data
from sarrus.mechanism.files.model_reader import MOST_BYTES
from sarrus.workbench.edit import EMPTY
from sarrus.workbench.guard import MOST_CODES, Guard
from sarrus.workbench.saving import OpenedFile, patched
from sarrus.workbench.server import Workbench

# ends a test that hangs [s]
PATIENCE = 600
TEXT = """sarrus: 1
name: pendulum  # a comment that stays
gravity: [0, -9.81]
bodies:
  bob: {mass: 2 kg, center: [1, 0], inertia: 0.1}  # heavy
joints:
  A: {revolute: [ground, bob], at: [0, 0]}
"""


class Client:
    """A workbench that serves, and requests to it."""

    def __init__(self, data, opened=None):
        self.bench = Workbench(data, opened or OpenedFile(None), port=0)
        self.port = self.bench.port
        self.thread = threading.Thread(target=self.bench.serve)
        self.thread.start()
        self.host = f"127.0.0.1:{self.port}"
        self.own = {
            "Cookie": f"sarrus-{self.port}={self.bench.guard.token}",
            "Origin": f"http://{self.host}",
        }
        self.count = 0

    def request(self, method, target, body=None, **headers):
        """Status, text and headers of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, target, body, {"Host": self.host, **headers})
        answer = connection.getresponse()
        found = answer.status, answer.read().decode(), answer.headers
        connection.close()
        return found

    def ask(self, target, **question):
        """The answer to a question of the page."""
        self.count += 1
        body = json.dumps({"page": "test", "number": self.count, **question})
        status, text, _ = self.request("POST", target, body, **self.own)
        assert status == 200
        return json.loads(text)

    def close(self):
        self.bench.stop()
        self.thread.join()
        self.bench.close()


@pytest.fixture(scope="module")
def client():
    """A pendulum."""
    made = Client(to_data(sarrus.problems.get("simple-pendulum").mechanism()))
    yield made
    made.close()


def test_only_the_own_page_with_the_token_is_answered(client):
    """The page: by its own name, from its own origin, with the token; it gives the cookie."""
    token = client.bench.guard.token
    known = {"Cookie": client.own["Cookie"]}
    assert client.request("GET", "/")[0] == 403
    assert client.request("GET", f"/?token={token}")[0] == 403
    assert client.request("GET", f"/?code={token}")[0] == 403
    status, text, headers = client.request("GET", "/", **known)
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert token not in text
    assert client.request("GET", "/", **known)[0] == 200
    assert client.request("GET", "/", **known, Host="evil.example")[0] == 403
    assert client.request("GET", "/", **known, Origin="http://evil.example")[0] == 403
    assert client.request("GET", "/plotly.js")[0] == 403
    assert client.request("GET", "/etc/passwd", **known)[0] == 404
    assert client.bench.server.server_address[0] == "127.0.0.1"


def test_a_code_is_exchanged_for_the_cookie_once(client):
    """The answer sets the cookie and leads on without the code; a second use, and a wrong code, are rejected."""
    guard = client.bench.guard
    target = guard.make_address().removeprefix(guard.origin)
    for strange in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        assert client.request("GET", target, **strange)[0] == 403
    assert client.request("GET", target.replace("/?", "/plotly.js?"))[0] == 403
    assert client.request("GET", target + "x")[0] == 403
    status, text, headers = client.request("GET", target)
    assert status == 200
    assert headers["Set-Cookie"] == f"{client.own['Cookie']}; HttpOnly; SameSite=Strict; Path=/"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert target[2:] not in text
    assert guard.token not in text
    assert client.request("GET", target)[0] == 403
    # a client with the cookie may use an old address
    assert client.request("GET", target, Cookie=client.own["Cookie"])[0] == 200
    for target in ("/?code=", "/?code", "/?code=wrong", "/?code=a&code=b"):
        assert client.request("GET", target)[0] == 403


def test_the_opening_page_is_private_and_always_works(client):
    """Mode 0600 in a folder of mode 0700; each use gives it a new code; no referrer, no script."""
    opening = client.bench.opening
    assert stat.S_IMODE(opening.folder.stat().st_mode) == 0o700
    seen = set()
    for _ in range(3):
        assert stat.S_IMODE(opening.path.stat().st_mode) == 0o600
        text = opening.path.read_text()
        assert opening.address in text
        assert "<script" not in text
        assert '<meta name="referrer" content="no-referrer">' in text
        seen.add(opening.address)
        target = opening.address.removeprefix(client.bench.guard.origin)
        assert client.request("GET", target)[0] == 200
    assert len(seen) == 3
    assert client.bench.guard.token not in opening.path.read_text()


def test_codes_that_nobody_uses_are_not_kept_for_ever():
    """A bounded number of them; the newest work."""
    guard = Guard(1)
    addresses = [guard.make_address() for _ in range(3 * MOST_CODES)]
    assert len(guard.codes) == MOST_CODES
    assert not guard.redeem(addresses[0].partition("?")[2])
    assert guard.redeem(addresses[-1].partition("?")[2])


@pytest.mark.parametrize("target", ["/solve", "/pull", "/edit", "/from-here", "/text", "/save"])
def test_questions_of_strangers_are_rejected(client, target):
    """Without the cookie, from another page or from none, with the token in the address: no answer, no work."""
    body = json.dumps({"page": "x", "number": 1, "data": client.bench.data})
    token = client.bench.guard.token
    own = client.own
    for headers in (
        {},
        {"Origin": own["Origin"]},
        {"Cookie": own["Cookie"]},
        {**own, "Origin": "http://evil.example"},
        {**own, "Origin": "null"},
        {**own, "Host": f"evil.example:{client.port}"},
        {**own, "Cookie": f"sarrus-{client.port}=wrong"},
    ):
        assert client.request("POST", f"{target}?token={token}", body, **headers)[0] == 403
    assert client.request("POST", target, body, **own)[0] == 200


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"x", {"Content-Length": str(MOST_BYTES + 1)}, 413),
        (b"", {"Content-Length": "-1"}, 413),
        (None, {"Transfer-Encoding": "chunked"}, 413),
        (b"[1]", {}, 400),
        (b"{", {}, 400),
        (b'{"number": NaN}', {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"{}", {}, 400),
        (b'{"number": true}', {}, 400),
        (b"\xff\xfe", {}, 400),
        (b"", {"Content-Length": "\u00b2"}, 413),
    ],
)
def test_bodies_that_are_no_question_are_rejected(client, body, headers, status):
    """Too large ones before they are read; others with a sentence. The server goes on."""
    found, text, _ = client.request("POST", "/solve", body, **client.own, **headers)
    assert found == status
    assert json.loads(text)["errors"]
    assert client.ask("/text", data=client.bench.data)["text"].startswith("#")


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"data": 1},
        {"data": {}},
        {"data": {"sarrus": 1}},
        {"data": {"sarrus": 1, "gravity": [0, -1], "bodies": {"a": 3}}},
        {"data": {"sarrus": 1, "gravity": 3, "bodies": {"a": {"mass": "x"}}}},
        {"values": {"bodies.bob.mass": -1.0}},
        {"values": {"no.such.path": 1.0}},
        {"values": [1]},
        {"duration": -1},
        {"duration": "long"},
    ],
    ids=str,
)
@pytest.mark.parametrize("target", ["/solve", "/pull", "/edit", "/from-here", "/text"])
def test_nonsense_is_answered_with_a_sentence(client, target, question):
    """Every way: no traceback, no lost connection."""
    known = {} if "data" in question or not question else {"data": client.bench.data}
    answer = client.ask(target, **known, **question)
    assert answer.get("errors") or target in ("/text", "/from-here") or "duration" in question


def test_a_run_comes_with_picture_plots_and_messages(client):
    """Quickly without, then with reactions and mobility; a value changes the motion."""
    data = client.bench.data
    quick = client.ask("/solve", data=data, duration=1.0, parameters=True)
    assert quick["status"] == "done"
    assert quick["picture"]["frames"] > 50
    assert {p["path"] for p in quick["parameters"]} >= {"bodies.bob.mass", "gravity.1"}
    titles = [figure["title"] for figure in quick["figures"]]
    assert "Energies" in titles
    assert "Reactions at the joints" not in titles
    full = client.ask("/solve", data=data, duration=1.0, full=True)
    assert "Reactions at the joints" in [figure["title"] for figure in full["figures"]]
    assert (
        full["mobility"][0] == "1 degree of freedom; no redundant constraints; not singular here."
    )
    other = client.ask("/solve", data=data, values={"gravity.1": -5.0}, duration=1.0)
    assert other["picture"]["data"] != quick["picture"]["data"]
    wrong = client.ask("/solve", data=data, values={"bodies.bob.mass": -1.0})
    assert "mass" in wrong["errors"][0]


def test_branches_at_a_crossing_are_drawn(client):
    """A full answer has a moving picture for each branch of the flat parallelogram, a quick one none."""
    data = to_data(n_four_bar(1))
    assert not client.ask("/solve", data=data, duration=1.0)["ghosts"]
    ghosts = client.ask("/solve", data=data, duration=1.0, full=True)["ghosts"]
    assert [g["caption"] for g in ghosts] == ["1: mobility 1", "2: mobility 1"]
    for ghost in ghosts:
        # three rods; along the branch and back
        assert len(ghost["lines"]) == 3
        assert all(len(moving.split(";")) == 32 for _, moving in ghost["lines"])


def test_of_questions_that_wait_only_the_newest_is_answered(client):
    """While one is being answered five more come in: four are dropped, whatever their order."""
    bench = client.bench
    gate, inside, last = threading.Event(), threading.Event(), threading.Event()
    solved, announce = [], bench.turns.announce

    def announced(page, number):
        announce(page, number)
        if number == 6:
            last.set()

    def slow(question):
        solved.append(question["number"])
        inside.set()
        assert gate.wait(PATIENCE)
        return {}

    kept, bench.answers["/solve"] = bench.answers["/solve"], slow
    bench.turns.announce = announced
    answers = {}

    def ask(number):
        body = json.dumps({"page": "busy", "number": number})
        answers[number] = json.loads(client.request("POST", "/solve", body, **client.own)[1])

    try:
        threads = [threading.Thread(target=ask, args=(n,)) for n in range(1, 7)]
        threads[0].start()
        assert inside.wait(PATIENCE)
        for thread in threads[1:]:
            thread.start()
        # those that come later than the newest are dropped as well
        assert last.wait(PATIENCE)
        gate.set()
        for thread in threads:
            thread.join()
    finally:
        bench.answers["/solve"], bench.turns.announce = kept, announce
    assert solved == [1, 6]
    assert {n for n in answers if answers[n].get("stale")} == {2, 3, 4, 5}


def test_a_slow_question_does_not_keep_a_quick_one_waiting(client):
    """While a full answer is being made, a quick one comes and goes."""
    bench = client.bench
    gate, inside = threading.Event(), threading.Event()
    solve = bench.answers["/solve"]

    def slow(question):
        if question.get("full"):
            inside.set()
            assert gate.wait(PATIENCE)
        return {}

    def ask():
        body = json.dumps({"page": "two", "number": 1, "full": True})
        client.request("POST", "/solve", body, **client.own)

    bench.answers["/solve"] = slow
    thread = threading.Thread(target=ask)
    try:
        thread.start()
        assert inside.wait(PATIENCE)
        assert client.ask("/solve", page="two", number=2) == {"number": 2}
    finally:
        gate.set()
        thread.join()
        bench.answers["/solve"] = solve


def test_what_is_being_answered_is_given_up_for_a_newer_question(client):
    """A full answer notices at its next step that a newer question came in; the newer one is answered."""
    bench, solve = client.bench, client.bench.answers["/solve"]
    inside, newer = threading.Event(), threading.Event()
    found = {}

    def slow(question):
        if question.get("full"):
            inside.set()
            assert newer.wait(PATIENCE)
            progress.report(1.0, 2.0)
            found["went on"] = True
        newer.set()
        return {}

    def ask():
        body = json.dumps({"page": "three", "number": 1, "full": True})
        found["answer"] = json.loads(client.request("POST", "/solve", body, **client.own)[1])

    bench.answers["/solve"] = slow
    thread = threading.Thread(target=ask)
    try:
        thread.start()
        assert inside.wait(PATIENCE)
        assert client.ask("/solve", page="three", number=2) == {"number": 2}
    finally:
        newer.set()
        thread.join()
        bench.answers["/solve"] = solve
    assert found == {"answer": {"number": 1, "stale": True}}


def test_a_run_is_given_up_while_it_is_made(client):
    """Nobody wants the answer any more: a long run and the reading of its curves end at their next step."""
    from sarrus.workbench.server import AbandonedError

    data = to_data(sarrus.problems.get("double-four-bar").mechanism())
    question = {"data": data, "duration": 20.0}
    # the first run of a method warms it up
    client.bench.desk.solve(question)
    client.bench.desk.kept.clear()
    times = []
    with progress.listening(lambda done, total: times.append(done)):
        client.bench.desk.solve(question)
    # simulated seconds, then parts that are read
    assert len(times) > len(data["joints"])
    for last in (1, len(times)):
        client.bench.desk.kept.clear()
        heard = []

        def listen(done, total, heard=heard, last=last):
            heard.append((done, total))
            if len(heard) == last:
                raise AbandonedError

        with progress.listening(listen), pytest.raises(AbandonedError):
            client.bench.desk.solve(question)
        assert len(heard) == last


def test_a_problem_is_made_again_with_other_options():
    """Four windows instead of two, with the gravity that was set; no options without a problem."""
    data = to_data(sarrus.problems.get("n-four-bar").mechanism())
    bench = Workbench(data, OpenedFile(None), port=0, problem=("n-four-bar", {}))
    try:
        question = {"options": {"windows": 4}, "values": {"gravity.1": -3.0, "gone": 1.0}}
        found = bench.remade(question)
        assert len(found["data"]["bodies"]) == 9
        assert found["values"] == {"gravity.1": -3.0}
        assert '"windows"' in bench.page()
        with pytest.raises(ValueError, match="windows"):
            bench.remade({"options": {"windows": 2.5}})
    finally:
        bench.close()


def test_a_fault_of_ours_is_reported_and_the_server_goes_on(client):
    """Whatever an answer raises becomes a sentence of the page."""
    bench, solve = client.bench, client.bench.answers["/solve"]
    bench.answers["/solve"] = lambda question: 1 / 0
    try:
        assert "ZeroDivisionError" in client.ask("/solve")["errors"][0]
    finally:
        bench.answers["/solve"] = solve
    assert client.ask("/solve", data=EMPTY)["empty"]


def test_json_stays_json(tmp_path):
    """A model file in JSON is written as JSON."""
    path = tmp_path / "my.json"
    data = to_data(sarrus.problems.get("simple-pendulum").mechanism())
    OpenedFile(path).write(data, {"bodies.bob.mass": 3.0})
    assert json.loads(path.read_text())["bodies"]["bob"]["mass"] == 3.0
    assert load(path).bodies[0].mass == 3.0


def test_pages_do_not_drop_each_others_questions(client):
    """A high number of one page means nothing for another."""
    data = client.bench.data
    for page, number in (("a", 1000), ("b", 1), ("a", 1001), ("b", 2)):
        answer = client.ask("/text", page=page, number=number, data=data)
        assert "stale" not in answer
    assert client.ask("/text", page="a", number=5, data=data)["stale"]


@pytest.fixture
def saved(tmp_path):
    """A workbench with an opened file."""
    path = tmp_path / "my.yaml"
    path.write_text(TEXT, encoding="utf-8")
    data = to_data(load(path))
    made = Client(data, OpenedFile(path, TEXT, data))
    yield made, path, data
    made.close()


def test_nothing_is_written_until_save_and_then_only_the_number(saved):
    """Solving writes nothing; saving a value changes that number and leaves comments and the rest alone."""
    client, path, data = saved
    values = {"bodies.bob.inertia": 0.25}
    client.ask("/solve", data=data, values=values, duration=0.1)
    client.ask("/text", data=data, values=values)
    assert path.read_text() == TEXT
    answer = client.ask("/save", data=data, values=values)
    assert answer["notes"] == ["saved: my.yaml"]
    assert path.read_text() == TEXT.replace("inertia: 0.1", "inertia: 0.25")
    assert os.listdir(path.parent) == ["my.yaml"]


def test_what_cannot_be_patched_is_written_again_and_reported(saved):
    """A drawn change: the file loads, and a note reports the loss of comments."""
    client, path, data = saved
    new = client.ask("/edit", data=data, change={"do": "point", "at": [1.0, 0.0]})["data"]
    answer = client.ask("/save", data=new)
    assert any("comments" in line for line in answer["notes"])
    assert [m.name for m in load(path).markers] == ["P 1"]


def test_nothing_is_written_through_a_link_or_over_a_stranger(saved, tmp_path):
    """A link in the file's place is rejected, its target untouched; a file that changed requests once more."""
    client, path, data = saved
    path.write_text("changed meanwhile", encoding="utf-8")
    values = {"bodies.bob.inertia": 0.3}
    answer = client.ask("/save", data=data, values=values)
    assert "once more" in answer["errors"][0]
    assert path.read_text() == "changed meanwhile"
    other = tmp_path / "other.txt"
    other.write_text("mine", encoding="utf-8")
    path.unlink()
    path.symlink_to(other)
    answer = client.ask("/save", data=data, values=values, force=True)
    assert "link" in answer["errors"][0]
    assert other.read_text() == "mine"
    path.unlink()
    assert client.ask("/save", data=data, values=values, force=True)["notes"]
    assert load(path).bodies[0].mass == 2.0


def test_without_a_file_nothing_is_saved(client):
    """A problem has no file: the answer says to download."""
    assert "download" in client.ask("/save", data=client.bench.data)["errors"][0]


def test_patches_reach_plain_numbers_only():
    """A number by path; a number with a unit, too, since it is one scalar; a quoted one or none is no patch."""
    assert "mass: 3.0," in patched(TEXT, {"bodies.bob.mass": 3})
    assert "center: [1, 1.0e-05]" in patched(TEXT, {"bodies.bob.center.1": 1e-05})
    assert patched(TEXT, {"bodies.bob.length": 1.0}) is None
    assert patched(TEXT.replace("2 kg", "'2 kg'"), {"bodies.bob.mass": 3}) is None


def test_an_empty_plane_is_no_error(client):
    """Nothing drawn yet: a picture to draw in, and no message of failure."""
    answer = client.ask("/solve", data=EMPTY, full=True)
    assert answer["empty"]
    assert answer["errors"] == []
    assert answer["picture"]["frames"] == 1


@pytest.mark.parametrize("port", [-1, 65536, 99999, 10**300])
def test_ports_that_no_machine_has_are_rejected(port):
    """A sentence with the number, however long it is."""
    with pytest.raises(ValueError, match=r"^port \S{1,20}; give a number from 0 to 65535$"):
        Workbench(EMPTY, OpenedFile(None), port=port)


LINES = (
    *(b"GET http://[ HTTP/1.1", b"GET //[::1 HTTP/1.1", b"GET http://[x]:y/ HTTP/1.1", b"GET", b""),
    *(
        b"POST http://[ HTTP/1.1",
        b"GET /?code=%ff%00 HTTP/1.1",
        b"GET /?" + b"&" * 5000 + b" HTTP/1.1",
    ),
    *(
        b"\xff\xfe\x00",
        b"GET / HTTP/9.9",
        b"GET / HTTP/1.x",
        b"BREW / HTTP/1.1",
        b"GET " + b"/" * 70_000,
    ),
    *(b"GET /\x00 HTTP/1.1", b"get / http/1.1", b"GET  /  HTTP/1.1", b"HEAD http://[ HTTP/1.1"),
)
HEADS = (
    *(
        b"",
        b"Host: {host}",
        b"Host: [",
        b"Host: {host}\r\nCookie: =;;=\x00",
        b"Host: {host}\r\nOrigin: http://[",
    ),
    *(b"Host: {host}\r\nContent-Length: 1e9", b"Cookie: " + b"a=b;" * 3000, b"\xff: \xff", b": :"),
    b"\r\n".join(b"X: y" for _ in range(200)),
)


def test_no_request_of_a_stranger_reaches_the_terminal(client, capfd):
    """Whatever a line or head holds, nothing is printed, no secret is answered, and the server goes on."""
    for line in LINES:
        for head in HEADS:
            text = line + b"\r\n" + head.replace(b"{host}", client.host.encode()) + b"\r\n\r\n"
            with socket.create_connection(("127.0.0.1", client.port), timeout=PATIENCE) as stream:
                with suppress(OSError):
                    stream.sendall(text)
                    stream.shutdown(socket.SHUT_WR)
                answer = b""
                with suppress(OSError):
                    while part := stream.recv(65536):
                        answer += part
            assert client.bench.guard.token.encode() not in answer
            assert b"200 OK" not in answer.partition(b"\r\n")[0]
    assert capfd.readouterr() == ("", "")
    assert client.request("GET", "/", Cookie=client.own["Cookie"])[0] == 200


def test_a_port_in_use_is_reported(client):
    """A sentence with what to do."""
    with pytest.raises(ValueError, match="--port"):
        Workbench(EMPTY, OpenedFile(None), port=client.port)
