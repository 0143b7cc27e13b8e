"""Movies: duration, size, not black, and the crank where the exact solution puts it."""

import numpy as np
import pytest

from run_folders import save_example
from sarrus import problems
from sarrus.problems.references.n_four_bar import four_bar_reference
from sarrus.report.movie import Film, draw_frames, parse_size, save_movie
from sarrus.runs.run_folder import load_run
from sarrus.scene.draw import BARS


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Two seconds of the double four-bar."""
    folder = save_example(tmp_path_factory.mktemp("movie") / "run", duration=2.0)
    return load_run(folder).scene


def center_of(frame, color):
    """Mean place of the pixels of about this colour, x to the right and y up."""
    wanted = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])
    # a codec moves colours a little; bars differ by far more
    rows, columns = np.nonzero(np.abs(frame.astype(int) - wanted).max(axis=2) < 24)
    assert len(rows) > 50
    return np.array([columns.mean(), -rows.mean()])


def check_cranks(frames, times):
    """Cranks 0 and 1 are a metre apart, which gives the scale; their middles move on the exact circle."""
    first = center_of(frames[0], BARS[0])
    metre = np.linalg.norm(center_of(frames[0], BARS[1]) - first)
    x, y = four_bar_reference(times, 2)[:, :2].T
    for frame, dx, dy in zip(frames, x, y, strict=True):
        moved = center_of(frame, BARS[0]) - first
        # the middle of the crank: half of what its end does; 2 pixels for ends hidden by pins
        np.testing.assert_allclose(moved, 0.5 * metre * np.array([dx, dy - 1]), atol=2.0)


@pytest.mark.slow
def test_drawn_crank_is_where_the_exact_solution_puts_it(scene):
    """Three frames, from pixels alone."""
    film = Film((640, 360), rate=2.5)
    frames = list(draw_frames(scene, film))[:3]
    check_cranks(frames, film.times(scene)[:3])


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".mp4", ".avi", ".gif"])
def test_movie_has_duration_size_and_motion(tmp_path, scene, ending):
    """Read back: as long as the run, the right size, not black, the crank in its place."""
    imageio = pytest.importorskip("imageio.v2")
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = save_movie(scene, tmp_path / f"run{ending}", Film((640, 360), rate=20.0))
    frames, seconds = ffmpeg.count_frames_and_secs(str(path))
    assert frames == 40
    assert seconds == pytest.approx(2.0, abs=0.051)
    with imageio.get_reader(path) as reader:
        shown = [np.asarray(reader.get_data(i))[..., :3] for i in (0, 14, 32)]
    for frame in shown:
        assert frame.shape == (360, 640, 3)
        assert frame.mean() > 200
        assert frame.min() < 100
    check_cranks(shown, np.array([0, 14, 32]) / 20.0)


@pytest.mark.slow
def test_speed_changes_the_duration(tmp_path, scene):
    """Twice as fast lasts half as long; an odd size is made even for a codec."""
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = save_movie(scene, tmp_path / "fast.mp4", Film((161, 91), rate=10.0, speed=2.0))
    frames, seconds = ffmpeg.count_frames_and_secs(str(path))
    assert frames == 10
    assert seconds == pytest.approx(1.0, abs=0.01)


@pytest.mark.slow
def test_frames_of_a_folder(tmp_path, scene):
    """One PNG a frame, of the size requested, numbered so that they sort."""
    from PIL import Image

    done = []
    film = Film((161, 91), rate=5.0, until=1.0)
    save_movie(scene, tmp_path / "frames", film, lambda n, total: done.append((n, total)))
    paths = sorted((tmp_path / "frames").glob("*.png"))
    assert [p.name for p in paths] == [f"frame-{i}.png" for i in range(5)]
    assert Image.open(paths[0]).size == (161, 91)
    assert done == [(i + 1, 5) for i in range(5)]
    save_movie(scene, tmp_path / "still.png", Film((161, 91), rate=1.0, until=1.0))
    assert (tmp_path / "still-0.png").is_file()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Film((10, 10)), "10x10"),
        (lambda: Film(rate=0.0), "fps = 0"),
        (lambda: Film(speed=-1.0), "speed = -1"),
        (lambda: Film(until=0.0), "until = 0"),
        (lambda: parse_size("big"), "'big' is not a size"),
    ],
)
def test_wrong_words_are_rejected(make, words):
    """One sentence with the number."""
    with pytest.raises(ValueError, match=words):
        make()


def test_other_endings_are_rejected(tmp_path, scene):
    """The known endings are named."""
    with pytest.raises(ValueError, match=r"\.mp4, \.avi, \.gif"):
        save_movie(scene, tmp_path / "run.wmv")


@pytest.mark.parametrize(
    ("package", "ending"), [("imageio.v2", ".gif"), ("imageio_ffmpeg", ".mp4")]
)
def test_a_missing_package_is_named_with_its_extra(tmp_path, scene, monkeypatch, package, ending):
    """Without it the message says what to install, and no folder is made."""
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=r".\[movie\]"):
        save_movie(scene, tmp_path / "new" / f"run{ending}", Film((64, 64), rate=1.0, until=1.0))
    assert not list(tmp_path.iterdir())


def test_seed_movie_is_ten_seconds_long():
    """The seed's movie: real time, so the frames of 10 s at 30 a second are 300."""
    import sarrus

    problem = problems.get("n-four-bar", windows=1)
    scene = sarrus.simulate(problem.mechanism(), 20.0, 0.5).scene
    assert len(Film(until=10.0).times(scene)) == 300
    assert len(Film().times(scene)) == 600


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.gif", "out.mp4", "frames", "one.png"])
def test_a_movie_that_is_stopped_leaves_nothing(tmp_path, scene, name):
    """Ctrl-C while frames are drawn: no file, neither whole nor half."""

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_movie(scene, tmp_path / name, Film((64, 64), until=0.5), stop)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
