"""The live viewer: a page on this machine alone, to turn a mechanism around and to run it again.

Other users of the machine and pages of strangers in the same browser can reach its port: only who has the token of
its address is answered (`Guard`).

It draws the same scene as page and movie, with viser: bars are one batch of cylinders, joints one of balls.
"""

from __future__ import annotations

import hmac
import http
import importlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from ..arrays import Floats, Ints
from ..mechanism import Mechanism, vary
from ..problems import all_options
from ..scene import Scene
from ..scene.draw import BARS, EDGE, GREY, PURPLE, TRACE, ground_points

LOOPBACK = "127.0.0.1"
PORT = 8080
FRAMES_A_SECOND = 30.0
# of a typical link
BAR, BALL, PIN = 0.042, 0.058, 0.16
SIDES = 20
SIZE, SPEED, WEIGHT = "size x", "start speed x", "gravity x"


@dataclass(frozen=True)
class Control:
    """A number that a slider changes, in its range."""

    name: str
    value: float
    low: float
    high: float
    step: float


def option_controls(options: dict[str, float]) -> list[Control]:
    """Sliders for the options of a problem: whole numbers stay whole, signs stay what they are."""
    controls = []
    for name, value in options.items():
        option = all_options()[name]
        if option.whole:
            high = min(max(3 * value, 12), option.most)
            controls.append(Control(name, value, option.least, high, 1))
        elif value == 0:
            controls.append(Control(name, 0.0, 0.0, 1.0, 0.01))
        else:
            low, high = sorted((0.2 * value, 5 * value))
            controls.append(Control(name, value, low, high, abs(value) / 100))
    return controls


def factor_controls(mechanism: Mechanism) -> list[Control]:
    """Sliders for what every mechanism has: its size, its start speed if it has one, its weight."""
    names = [] if mechanism.drives else [SIZE]
    names += [SPEED] if mechanism.velocities or mechanism.angular_velocities else []
    names += [WEIGHT] if mechanism.gravity.any() else []
    return [Control(name, 1.0, 0.2, 3.0, 0.05) for name in names]


def vary_by(mechanism: Mechanism, values: dict[str, float]) -> Mechanism:
    """The mechanism as the sliders of `factor_controls` stand."""
    factors = {"size": SIZE, "speed": SPEED, "gravity": WEIGHT}
    return vary(mechanism, **{k: values[name] for k, name in factors.items() if name in values})


class Guard:
    """Answers only requests for this server's own name, from its own page, by who knows the token.

    A name of another host would be a stranger's page that leads its name to this machine; another origin a
    stranger's page that talks to it. The page gets the token by its address once, then as a cookie.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self.installed = False

    def refuses(self, port: int, target: str, headers: Any) -> str:
        """Why a request is not answered; empty if it is."""
        own = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
        # several headers of a kind are none that a browser sends
        host, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(host) != 1 or host[0] not in own:
            return "this server has another name"
        if origins and origins != [f"http://{host[0]}"]:
            return "the request comes from another page"
        if headers.get_all("Upgrade") and not origins:
            return "the request does not say which page it comes from"
        given = [*parse_qs(urlsplit(target).query).get("token", ())]
        try:
            cookies = SimpleCookie("; ".join(headers.get_all("Cookie")))
        except CookieError:
            cookies = SimpleCookie()
        given += [m.value for name, m in cookies.items() if name == self.cookie(port)]
        known = any(hmac.compare_digest(word.encode(), self.token.encode()) for word in given)
        return "" if known else "open the address that was printed, with its token"

    @staticmethod
    def cookie(port: int) -> str:
        """The name of the cookie: servers on other ports have others."""
        return f"sarrus-{port}"

    @contextmanager
    def around(self) -> Iterator[None]:
        """Servers of websockets that start meanwhile ask here first."""
        module: Any = importlib.import_module("websockets.asyncio.server")
        serve = module.serve

        def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
            self.installed = True

            def answer(connection: Any, request: Any) -> Any:
                port = connection.local_address[1]
                why = self.refuses(port, request.path, request.headers)
                if why:
                    return connection.respond(http.HTTPStatus.FORBIDDEN, f"{why}\n")
                found = process_request(connection, request) if process_request else None
                if found is not None:
                    found.headers["Set-Cookie"] = (
                        f"{self.cookie(port)}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                    )
                    # the token in the address stays here
                    found.headers["Referrer-Policy"] = "no-referrer"
                return found

            return serve(*arguments, process_request=answer, **options)

        module.serve = guarded
        try:
            yield
        finally:
            module.serve = serve


class Viewer:
    """A server on the loopback address that shows a scene and may run it again.

    rerun(values): a new scene for the values of the controls; what it raises as ValueError is shown.
    port: 0 takes any that is free.
    """

    def __init__(
        self,
        scene: Scene,
        controls: Sequence[Control] = (),
        rerun: Callable[[dict[str, float]], Scene] | None = None,
        port: int = PORT,
    ) -> None:
        viser = _load_viser()
        self.guard = Guard()
        with self.guard.around():
            self.server = viser.ViserServer(host=LOOPBACK, port=port, label="Sarrus", verbose=False)
        if not self.guard.installed:
            self.server.stop()
            raise ValueError(
                f"viser {viser.__version__} starts its server in a way that cannot be guarded; install viser 1.1"
            )
        # a page may ask to be shared by a server elsewhere: nothing leaves this machine
        self.server.request_share_url = _share_nothing
        self.rerun = rerun
        self.lock = threading.RLock()
        self.time = 0.0
        self.drawn: list[Any] = []
        gui = self.server.gui
        gui.configure_theme(control_width="large", show_share_button=False)
        self.message = gui.add_markdown("")
        self.slider = gui.add_slider("time [s]", 0.0, max(scene.end, 1e-6), 1e-4, 0.0)
        self.slider.on_update(lambda event: self._dragged(event))
        self.playing = gui.add_checkbox("play", False)
        self.speed = gui.add_slider("playback speed", 0.1, 4.0, 0.1, 1.0)
        self.names = gui.add_checkbox("names of joints", False)
        self.names.on_update(lambda event: self._show_names())
        self.controls: dict[str, Any] = {}
        if rerun is not None and controls:
            with gui.add_folder("run again with"):
                for control in controls:
                    self.controls[control.name] = gui.add_slider(
                        control.name, control.low, control.high, control.step, control.value
                    )
                button = gui.add_button("run")
                button.on_click(lambda event: self.run_again())
        self.show(scene)

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"http://{LOOPBACK}:{self.server.get_port()}/?token={self.guard.token}"

    def show(self, scene: Scene) -> None:
        """Draw another scene, from its start."""
        with self.lock:
            for handle in self.drawn:
                handle.remove()
            self.scene = scene
            self.slider.max = max(scene.end, 1e-6)
            self._draw()
            self.move(0.0)
            crossings = f" {len(scene.marks)} crossings, marked by diamonds." if scene.marks else ""
            early = scene.end < scene.duration * (1 - 1e-9)
            ended = f" It ended early, at {scene.end:.4g} s." if early else ""
            self.message.content = (
                f"**{_plain(scene.sketch.name)}**: {len(scene.sketch.shapes)} bodies, "
                f"{scene.duration:g} s.{crossings}{ended}"
            )

    def move(self, at: float) -> None:
        """Put everything where it is at a time [s]."""
        with self.lock, self.server.atomic():
            self.time = float(np.clip(at, 0.0, self.scene.end))
            self.slider.value = self.time
            points = _in_space(self.scene.at(self.time)[0])
            if self.bars is not None:
                places, turns, lengths = _cylinders(
                    points[self.pairs[:, 0]], points[self.pairs[:, 1]]
                )
                self.bars.batched_positions = places
                self.bars.batched_wxyzs = turns
                self.bars.batched_scales = np.column_stack([self.thick, self.thick, lengths])
            if self.balls is not None:
                self.balls.batched_positions = points[self.joints]
            for mesh, corners in self.plates:
                mesh.vertices = points[corners]
            if self.lines is not None:
                self.lines.points = points[self.ends]
            for label, point in self.labels:
                label.position = points[point]
            if self.pen is not None and self.scene.observed is not None:
                self.pen.position = points[self.scene.observed]

    def run_again(self) -> None:
        """Simulate with the values of the sliders and show the result, or say why not."""
        if self.rerun is None:
            return
        self.message.content = "running ..."
        values = {name: slider.value for name, slider in self.controls.items()}
        try:
            scene = self.rerun(values)
        except ValueError as error:
            self.message.content = f"**not run**: {_plain(str(error))}"
            return
        self.show(scene)

    def play(self, stop: threading.Event | None = None) -> None:
        """Serve until stopped; moves the time while "play" is ticked."""
        stop = stop or threading.Event()
        last = time.perf_counter()
        while not stop.wait(1.0 / FRAMES_A_SECOND):
            now = time.perf_counter()
            if self.playing.value and self.scene.end > 0:
                self.move((self.time + (now - last) * self.speed.value) % self.scene.end)
            last = now

    def stop(self) -> None:
        """End the server."""
        self.server.stop()

    def _dragged(self, event: Any) -> None:
        # the server's own changes of the slider come back without a client
        if event.client is not None:
            self.playing.value = False
            self.move(self.slider.value)

    def _show_names(self) -> None:
        for label, _ in self.labels:
            label.visible = self.names.value

    def _draw(self) -> None:
        sketch, scene = self.scene.sketch, self.server.scene
        size, up = sketch.size, _in_space(np.array(sketch.up))
        scene.set_up_direction(tuple(float(x) for x in up))
        start = _in_space(self.scene.at(0.0)[0])
        self._draw_bodies(start)
        self._draw_signs(start)
        stands = ground_points(self.scene)
        if stands:
            vertices, faces = _pyramid(PIN * size)
            turn = np.tile(_turn_to(up), (len(stands), 1))
            self._keep(
                scene.add_batched_meshes_simple(
                    "/ground", vertices, faces, turn, start[stands], batched_colors=_rgb(GREY)
                )
            )
        self.pen = None
        if self.scene.observed is not None and len(self.scene.times) > 1:
            path = _in_space(self.scene.points[:, self.scene.observed])
            segments = np.stack([path[:-1], path[1:]], axis=1)
            self._keep(
                scene.add_line_segments("/trace", segments, _rgb(TRACE), thickness=0.008 * size)
            )
            self.pen = self._keep(scene.add_icosphere("/pen", 1.2 * BALL * size, _rgb(TRACE)))
            for i, mark in enumerate(self.scene.marks):
                at = _in_space(self.scene.at(mark.time)[0])[self.scene.observed]
                self._keep(
                    scene.add_icosphere(
                        f"/mark {i}", 0.9 * BALL * size, _rgb(PURPLE), subdivisions=0, position=at
                    )
                )
        low, high = (_in_space(x) for x in self.scene.box)
        reach = float(np.linalg.norm(high - low)) + size
        middle = 0.5 * (low + high)
        # a plane is looked at from the front, space from above and aside
        away = np.array([0, 0, 1.0]) if sketch.dimension == 2 else _aside(up)
        self.server.initial_camera.position = tuple(middle + 0.8 * reach * away)
        self.server.initial_camera.look_at = tuple(middle)
        self.server.initial_camera.up = tuple(up)

    def _draw_bodies(self, start: Floats) -> None:
        sketch, scene = self.scene.sketch, self.server.scene
        bars = [
            (s.points[0], s.points[1], BARS[n % len(BARS)], BAR)
            for n, s in enumerate(sketch.shapes)
            if s.kind != "plate" and len(s.points) > 1
        ]
        # axes and sliders are short dark cylinders
        bars += [
            (a, b, EDGE, 0.8 * BAR if k == 0 and len(s.points) > 1 else 1.2 * BAR)
            for s in sketch.signs
            for k, (a, b) in enumerate(s.lines)
        ]
        self.pairs = np.array([(a, b) for a, b, _, _ in bars], dtype=int).reshape(-1, 2)
        self.thick = np.array([t for *_, t in bars]) * sketch.size
        self.bars = None
        if bars:
            vertices, faces = _unit_cylinder()
            places, turns, lengths = _cylinders(start[self.pairs[:, 0]], start[self.pairs[:, 1]])
            self.bars = self._keep(
                scene.add_batched_meshes_simple(
                    "/bars",
                    vertices,
                    faces,
                    turns,
                    places,
                    batched_scales=np.column_stack([self.thick, self.thick, lengths]),
                    batched_colors=np.array([_rgb(c) for _, _, c, _ in bars], dtype=np.uint8),
                )
            )
        self.plates = []
        for n, shape in enumerate(sketch.shapes):
            for k, face in enumerate(shape.faces):
                fan = np.array([(0, i, i + 1) for i in range(1, len(face) - 1)])
                corners = list(face)
                mesh = scene.add_mesh_simple(
                    f"/plate {n} {k}",
                    start[corners],
                    fan,
                    color=_rgb(BARS[n % len(BARS)]),
                    side="double",
                    opacity=0.75,
                )
                self.plates.append((self._keep(mesh), corners))

    def _draw_signs(self, start: Floats) -> None:
        sketch, scene = self.scene.sketch, self.server.scene
        joints = [s.points[-1] for s in sketch.signs if s.glyph not in ("spring", "link")]
        masses = [s.points[0] for s in sketch.shapes if s.kind == "mass"]
        self.joints = np.array(joints + masses, dtype=int)
        sizes = np.array([BALL] * len(joints) + [3 * BALL] * len(masses)) * sketch.size
        colors = [_rgb(EDGE)] * len(joints) + [_rgb(BARS[0])] * len(masses)
        self.balls = None
        if len(self.joints):
            ball = importlib.import_module("trimesh").creation.icosphere(subdivisions=2)
            self.balls = self._keep(
                scene.add_batched_meshes_simple(
                    "/joints",
                    np.asarray(ball.vertices),
                    np.asarray(ball.faces),
                    np.tile([1.0, 0, 0, 0], (len(self.joints), 1)),
                    start[self.joints],
                    batched_scales=sizes,
                    batched_colors=np.array(colors, dtype=np.uint8),
                )
            )
        self.ends = np.array(
            [s.points for s in sketch.signs if s.glyph in ("spring", "link")], dtype=int
        ).reshape(-1, 2)
        self.lines = None
        if len(self.ends):
            self.lines = self._keep(
                scene.add_line_segments(
                    "/springs", start[self.ends], _rgb(GREY), thickness=0.02 * sketch.size
                )
            )
        self.labels = []
        # more names than this hide the mechanism
        for i, sign in enumerate(sketch.signs[:200]):
            label = scene.add_label(
                f"/name {i}", sign.name, position=start[sign.points[-1]], visible=self.names.value
            )
            self.labels.append((self._keep(label), sign.points[-1]))

    def _keep(self, handle: Any) -> Any:
        if not self.drawn or self.drawn[-1] is not handle:
            self.drawn.append(handle)
        return handle


def _share_nothing(verbose: bool = True) -> None:
    """What a viewer does when it is asked to be seen from elsewhere."""


def _load_viser() -> Any:
    try:
        return importlib.import_module("viser")
    except ImportError as error:
        raise ValueError(
            f"the viewer needs the package {error.name}; install it by: pip install 'sarrus[view]'"
        ) from error


def _plain(text: str) -> str:
    """Text that a markdown field shows as it is."""
    return "".join(f"&#{ord(c)};" if c in "<>&*_`[]\\#!|{}" else c for c in text)


def _rgb(color: str) -> tuple[int, int, int]:
    return (int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16))


def _in_space(points: Floats) -> Floats:
    if points.shape[-1] == 3:
        return points
    return np.concatenate([points, np.zeros((*points.shape[:-1], 1))], axis=-1)


def _cylinders(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """Middle, turn and length of the cylinders from a to b; the unit one stands along z."""
    along = b - a
    lengths = np.linalg.norm(along, axis=1)
    return 0.5 * (a + b), _turn_to(along / np.maximum(lengths, 1e-300)[:, None]), lengths


def _turn_to(directions: Floats) -> Floats:
    """Quaternions (w, x, y, z) that turn z into unit directions."""
    x, y, z = np.moveaxis(directions, -1, 0)
    w = np.sqrt(np.maximum(0.5 * (1 + z), 0.0))
    # straight down every axis across will do
    down = w < 1e-9
    safe = np.where(down, 1.0, 2 * w)
    return np.stack([w, np.where(down, 1.0, -y / safe), x / safe * ~down, 0 * w], axis=-1)


def _unit_cylinder() -> tuple[Floats, Ints]:
    """A cylinder of radius 1 and length 1 along z about the origin."""
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.full(SIDES, 0.5)])
    vertices = np.vstack([ring * [1, 1, -1], ring, [[0, 0, -0.5], [0, 0, 0.5]]])
    faces = []
    for i in range(SIDES):
        j = (i + 1) % SIDES
        faces += [(i, j, SIDES + j), (i, SIDES + j, SIDES + i)]
        faces += [(2 * SIDES, j, i), (2 * SIDES + 1, SIDES + i, SIDES + j)]
    return vertices, np.array(faces)


def _pyramid(size: float) -> tuple[Floats, Ints]:
    """A stand: its tip at the origin, its base below."""
    h = 0.6 * size
    corners = [(-h, -h, -size), (h, -h, -size), (h, h, -size), (-h, h, -size)]
    faces = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4), (0, 2, 1), (0, 3, 2)]
    return np.array([*corners, (0, 0, 0)], dtype=float), np.array(faces)


def _aside(up: Floats) -> Floats:
    side = np.eye(3)[int(np.argmin(np.abs(up)))]
    a = np.cross(side, up)
    a /= np.linalg.norm(a)
    away = 0.75 * a + 0.5 * np.cross(up, a) + 0.4 * up
    return np.asarray(away / np.linalg.norm(away))
