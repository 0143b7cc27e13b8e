"""The live viewer: on the loopback address only, moves with time, runs again with other numbers."""

import http.client
import threading
import time
import urllib.request

import numpy as np
import pytest

import sarrus

pytest.importorskip("viser")

from sarrus.report.viewer import (
    Viewer,
    _cylinders,
    _turn_to,
    factor_controls,
    option_controls,
    vary_by,
)

# ends a test that hangs [s]
PATIENCE = 600


def turned(quaternion, vector):
    """A vector turned by a quaternion (w, x, y, z)."""
    w, axis = quaternion[0], quaternion[1:]
    return vector + 2 * np.cross(axis, np.cross(axis, vector) + w * vector)


def test_turns_put_z_along_the_bar():
    """Any direction, also straight down."""
    rng = np.random.default_rng(0)
    directions = np.vstack([rng.normal(size=(20, 3)), np.eye(3), -np.eye(3)])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for quaternion, d in zip(_turn_to(directions), directions, strict=True):
        assert np.linalg.norm(quaternion) == pytest.approx(1)
        np.testing.assert_allclose(turned(quaternion, np.array([0, 0, 1.0])), d, atol=1e-9)


def test_controls_follow_the_options():
    """Whole numbers stay whole, zero gets a range, every mechanism can be scaled."""
    windows, speed = option_controls({"windows": 2, "speed": -1.0})
    assert (windows.low, windows.step) == (1, 1)
    assert speed.low < -1.0 < speed.high < 0
    (section,) = option_controls({"section": 0.0})
    assert section.high > section.low == 0.0
    mechanism = sarrus.problems.get("double-four-bar").mechanism()
    assert [c.name for c in factor_controls(mechanism)] == ["size x", "start speed x", "gravity x"]


def test_scaling_follows_the_pendulum_law():
    """Four times as large with double start speed: the same motion at half the rate (t ~ sqrt size)."""
    mechanism = sarrus.problems.get("n-four-bar", windows=1).mechanism()
    larger = vary_by(mechanism, {"size x": 4.0, "start speed x": 2.0})
    small = sarrus.simulate(mechanism, 1.0, 0.1).position("B0")
    large = sarrus.simulate(larger, 2.0, 0.2).position("B0")
    # both to 1e-10 of their size
    np.testing.assert_allclose(large, 4.0 * small, atol=1e-7)
    # the mechanism it came from is untouched
    assert mechanism.bodies[0].ends[1][1] == 1.0


def status_of(port, target="/", **headers):
    """What the server answers to a request with these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", target, headers={"Host": f"127.0.0.1:{port}", **headers})
    answer = connection.getresponse()
    answer.read()
    return answer.status, answer.getheader("Set-Cookie") or ""


def check_guarded(viewer):
    """Only the own page, by its own name, with the token: the rest is refused, websockets too."""
    port, token = viewer.server.get_port(), viewer.guard.token
    host = f"127.0.0.1:{port}"
    assert status_of(port) == (403, "")
    assert status_of(port, "/?token=wrong") == (403, "")
    good, cookie = status_of(port, f"/?token={token}")
    assert good == 200
    assert "HttpOnly; SameSite=Strict" in cookie
    known = {"Cookie": cookie.split(";")[0]}
    assert status_of(port, **known)[0] == 200
    assert status_of(port, **known, Host="evil.example")[0] == 403
    assert status_of(port, **known, Origin="http://evil.example")[0] == 403
    assert status_of(port, **known, Origin=f"http://{host}")[0] == 200
    assert status_of(port, Cookie=f"sarrus-{port}=wrong")[0] == 403
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    own = {"Origin": f"http://{host}"}
    assert status_of(port, **upgrade, **own)[0] == 403
    assert status_of(port, **upgrade, **known)[0] == 403
    assert status_of(port, **upgrade, **known, Origin="null")[0] == 403
    # 101: it goes on as a websocket; or it wants more of viser's own protocol, but no 403
    assert status_of(port, **upgrade, **known, **own)[0] != 403
    assert viewer.server.request_share_url() is None


def test_viewer_shows_moves_and_runs_again():
    """It answers on 127.0.0.1, bars follow the time, a new run replaces the scene, errors are shown."""
    problem = sarrus.problems.get("double-four-bar")

    def rerun(values):
        if values["speed"] > 4:
            raise ValueError("too <fast>")
        varied = sarrus.problems.get("double-four-bar", **values)
        return sarrus.simulate(varied.mechanism(), 0.5, 0.05).scene.observing("B0")

    scene = sarrus.simulate(problem.mechanism(), 1.0, 0.05).scene.observing("B0")
    viewer = Viewer(scene, option_controls(problem.options), rerun, port=0)
    try:
        assert viewer.address.startswith("http://127.0.0.1:")
        assert viewer.server.get_host() == "127.0.0.1"
        with urllib.request.urlopen(viewer.address, timeout=PATIENCE) as answer:
            assert answer.status == 200
        check_guarded(viewer)
        viewer.move(0.5)
        points = np.pad(scene.at(0.5)[0], ((0, 0), (0, 1)))
        middle, _, lengths = _cylinders(points[viewer.pairs[:, 0]], points[viewer.pairs[:, 1]])
        np.testing.assert_allclose(viewer.bars.batched_positions, middle, atol=1e-6)
        np.testing.assert_allclose(lengths, 1.0, atol=1e-9)
        assert viewer.slider.value == pytest.approx(0.5)
        stop = threading.Event()
        viewer.playing.value = True
        thread = threading.Thread(target=viewer.play, args=(stop,))
        thread.start()
        begin = time.monotonic()
        while viewer.time == 0.5 and time.monotonic() - begin < PATIENCE:
            stop.wait(0.01)
        stop.set()
        thread.join()
        assert viewer.time != 0.5
        viewer.controls["windows"].value = 3
        viewer.run_again()
        assert len(viewer.scene.sketch.shapes) == 7
        viewer.controls["speed"].value = 5.0
        viewer.run_again()
        assert "too &#60;fast&#62;" in viewer.message.content
        assert len(viewer.scene.sketch.shapes) == 7
    finally:
        viewer.stop()
