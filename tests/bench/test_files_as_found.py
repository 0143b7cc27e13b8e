"""Result files of other programs: headers, few digits, missing columns, other programs' formats."""

import gzip
import itertools
import time
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from result_files import exact_columns
from sarrus import problems
from sarrus.bench import ResultFileError, judge_columns, read_result_file
from sarrus.bench.column_headers import read_head
from sarrus.cli import app

runner = CliRunner()


def written(path, columns, heads="", fmt="%13.5E", separator=" ", end=""):
    """Columns as text with six digits, as the libraries publish them."""
    rows = np.column_stack(list(columns.values()))
    lines = [separator.join(fmt % value for value in row) + end for row in rows]
    path.write_text("\n".join([*([heads] if heads else []), *lines]) + "\n")
    return path


def some(problem, *names):
    """The exact motion in these columns alone."""
    times = exact_columns(problem)["t"]
    columns = {"t": times, **problem.reference_columns(times)}
    return {name: columns[name] for name in names}


def call(path, problem, *words):
    """The command as a function."""
    return runner.invoke(app, ["judge", str(path), "--problem", problem, *map(str, words)])


@pytest.mark.parametrize(
    ("name", "heads", "separator", "names", "fmt"),
    [
        # MBS Benchmark A02, A01 and the IFToMM slider-crank, as published
        ("n-four-bar", "%       Time        DX           DY", " ", "t x y", "%13.5E"),
        ("simple-pendulum-a01", "      Time        DX           DY", " ", "t x y", "%13.5E"),
        ("spatial-slider-crank", "", ", ", "t x", "%.9g"),
        (
            "a04-bricard",
            "# t[s],P3x[m],P3y[m],P3z[m]; recovered, see notes",
            ",",
            "t x y z",
            "%.6f",
        ),
        (
            "spatial-slider-crank",
            "# t[s],slider x[m],crank angle[rad]; rows",
            ",",
            "t x angle",
            "%.9g",
        ),
    ],
)
def test_published_forms_pass_with_their_digits_reported(
    tmp_path, name, heads, separator, names, fmt
):
    """Six digits and no energy: judged, passed, and a sentence states what cannot be judged."""
    problem = problems.get(name)
    path = written(tmp_path / "r.txt", some(problem, *names.split()), heads, fmt, separator, "  ")
    answer = call(path, name)
    assert answer.exit_code == 0, answer.output
    assert "without an energy column its drift cannot be determined" in answer.output
    assert "digits x is known to 5e-" in answer.output
    assert "smaller errors cannot be judged" in answer.output


def test_rounding_is_half_of_the_last_digit(tmp_path):
    """What the file hides is what rounding changed: measured, and never less."""
    problem = problems.get("n-four-bar", windows=3)
    exact = some(problem, "t", "x", "y")
    for fmt in ("%.5E", "%.6f", "%.7g"):
        read = read_result_file(written(tmp_path / "r.txt", exact, "t x y", fmt=fmt), problem)
        for name in ("x", "y"):
            off = np.abs(read.columns[name] - exact[name]).max()
            # four hundred rows come close to the most that is possible
            assert 0.5 * read.rounding[name] < off <= read.rounding[name] * (1 + 1e-9)


@pytest.mark.parametrize(
    "order", list(itertools.permutations(["t", "x", "y", "vx", "vy", "energy"]))[::97]
)
def test_heads_count_not_the_order(tmp_path, order):
    """Any order of the columns is read by their headers, and reported."""
    problem = problems.get("n-four-bar", windows=2)
    exact = exact_columns(problem)
    columns = {name: exact[name] for name in order}
    path = written(tmp_path / "r.csv", columns, ",".join(order), "%.15e", ",")
    read = read_result_file(path, problem)
    assert list(read.columns) == list(problem.columns)
    for name, column in exact.items():
        np.testing.assert_allclose(read.columns[name], column, rtol=1e-14, atol=1e-300)
    assert any("read by headers" in note for note in read.notes) or order == problem.columns


@pytest.mark.parametrize(
    ("text", "name", "before"),
    [
        ("Time", "t", ""),
        ("t [s]", "t", ""),
        ("DX", "x", ""),
        ("B0.x [m]", "x", "b0"),
        ("P3x", "x", "p3"),
        ("slider x", "x", "slider"),
        ("X1", "x", ""),
        ("VX", "vx", ""),
        ("dx/dt", "vx", ""),
        ("xdot", "vx", ""),
        ("pos_y", "y", ""),
        ("velocity_z", "vz", ""),
        ("total energy [J]", "energy", ""),
        ("position violation", "position", ""),
        ("crank angle", "angle", "crank"),
        ("force", None, ""),
        ("a_x", "x", "a"),
        ("", None, ""),
    ],
)
def test_heads_mean(text, name, before):
    """What people write over their columns."""
    head = read_head(text)
    assert (head.name, head.before) == (name, before)


@pytest.mark.parametrize(
    ("heads", "names", "words", "expected"),
    [
        # two headers for one column: ambiguous
        ("Time Ax Cx", "t x y", (), "may all mean x"),
        # the order of the source and the headers disagree in part
        ("t vx foo energy a b c", "t x y x x x x", (), "read by headers"),
        ("t alpha beta", "t x y", (), "3 columns"),
        ("", "t x", (), "2 columns without headers were read as t x"),
        ("", "t x y", (), "3 columns; 'double-four-bar' has 7"),
        ("", "t x y", ("--columns", "t,x,q"), "'q' is none of"),
        ("", "t x y", ("--columns", "t,x,x"), "stands twice"),
        ("", "t x y", ("--columns", "x,y"), "t and one more column"),
        ("", "t x y", ("--columns", "t,x,y,vx"), "names 4 columns, the file has 3"),
        ("Time B1.x B0.x", "t y x", (), "'B0.x' as x"),
        ("Time B1.x", "t y", (), "none means x"),
        ("t[s] x[inch]", "t x", (), "has the unit inch"),
        ("Time Ax Cx", "t x y", ("--columns", "t=Time,x=Ax"), "read as given: t x -"),
        ("Time Ax Cx", "t x y", ("--columns", "t=Time,x=Bx"), "has the headers 'Time', 'Ax', 'Cx'"),
    ],
)
def test_nothing_is_guessed_in_silence(tmp_path, heads, names, words, expected):
    """What is ambiguous is rejected with what to write; what was read as what is reported."""
    problem = problems.get("double-four-bar")
    exact = some(problem, "t", "x", "y")
    columns = {n: exact[name] for n, name in enumerate(names.split())}
    answer = call(written(tmp_path / "r.txt", columns, heads), problem.id, *words)
    assert expected in answer.output + str(answer.exception)


def test_exchanged_columns_are_reported_not_mended(tmp_path):
    """Wrong headers: the file fails, and the judge states what it looks like."""
    problem = problems.get("n-four-bar", windows=2)
    exact = some(problem, "t", "x", "y")
    path = written(tmp_path / "r.txt", exact, "Time DY DX")
    answer = call(path, problem.id, "--windows", 2)
    assert answer.exit_code == 1
    assert "(x and y) look exchanged" in answer.output


def test_a_limit_on_a_missing_column_is_not_reported(tmp_path):
    """Neither passed nor failed: exit status 3, and the limit is named."""
    problem = problems.get("simple-pendulum")
    path = written(tmp_path / "r.txt", some(problem, "t", "x", "y"), "t x y")
    answer = call(path, problem.id)
    assert answer.exit_code == 3
    assert "not determined for lack of columns: energy drift" in answer.output
    assert "UNDETERMINED" in answer.output


def test_an_energy_alone_is_judged():
    """The drift can be reported without the point, the path cannot."""
    problem = problems.get("double-four-bar")
    exact = exact_columns(problem)
    judged = judge_columns(problem, {name: exact[name] for name in ("t", "energy")})
    assert judged.kept
    assert not judged.passed
    assert judged.undetermined == ("path of the observed point",)
    assert judged.position_error is None


def test_digits_that_hide_a_limit_are_reported(tmp_path):
    """Three digits cannot keep 1e-3 relative to a small number, and the file is not blamed alone."""
    problem = problems.get("n-four-bar", windows=2)
    path = written(tmp_path / "r.txt", some(problem, "t", "x", "y"), "t x y", fmt="%.3f")
    answer = call(path, problem.id, "--windows", 2)
    assert answer.exit_code == 1
    assert "its limit, 0.001, is finer than these digits" in answer.output


def test_units_of_heads_are_taken(tmp_path):
    """Millimetres, milliseconds and degrees that the file itself names are converted, and reported."""
    problem = problems.get("spatial-slider-crank")
    exact = some(problem, "t", "x", "angle")
    columns = {
        "t": exact["t"] * 1e3,
        "x": exact["x"] * 1e3,
        "angle": np.degrees(exact["angle"]),
    }
    for heads in ("time [ms],x [mm],angle [deg]", "time,x,angle\nms,mm,deg"):
        read = read_result_file(written(tmp_path / "r.csv", columns, heads, "%.15e", ","), problem)
        for name, column in exact.items():
            np.testing.assert_allclose(read.columns[name], column, rtol=1e-13, atol=1e-300)
        assert any("converted by the units" in note for note in read.notes)


def test_storage_files_of_opensim(tmp_path):
    """Lines up to endheader, tabs, degrees where the file says so."""
    problem = problems.get("spatial-slider-crank")
    exact = some(problem, "t", "x", "angle")
    columns = {**exact, "angle": np.degrees(exact["angle"])}
    head = "slider-crank\nversion=1\nnRows=501\nnColumns=3\ninDegrees=yes\nendheader\ntime\tslider_x\tcrank_angle"
    path = written(tmp_path / "r.sto", columns, head, "%.15f", "\t")
    read = read_result_file(path, problem)
    for name, column in exact.items():
        np.testing.assert_allclose(read.columns[name], column, atol=1e-13)


@pytest.mark.slow
def test_parquet(tmp_path):
    """Columns by the names in the file; a broken one is one message."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    problem = problems.get("n-four-bar", windows=2)
    exact = exact_columns(problem)
    table = pyarrow.table({"Time [s]": exact["t"], "B0.x [m]": exact["x"], "B0.y [m]": exact["y"]})
    parquet.write_table(table, tmp_path / "r.parquet")
    read = read_result_file(tmp_path / "r.parquet", problem)
    assert np.array_equal(read.columns["y"], exact["y"])
    assert read.rounding == {}
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(ResultFileError, match="cannot be read"):
        read_result_file(tmp_path / "bad.parquet", problem)


def test_packed_text_and_arrays(tmp_path):
    """Text in gzip; NumPy's arrays, one per column by name or one table; damaged ones give one message."""
    problem = problems.get("n-four-bar", windows=2)
    exact = some(problem, "t", "x", "y")
    text = written(tmp_path / "r.txt", exact, "t x y", "%.17g").read_bytes()
    (tmp_path / "r.txt.gz").write_bytes(gzip.compress(text))
    np.savez_compressed(
        tmp_path / "named.npz", **{"y [m]": exact["y"], "t": exact["t"], "x": exact["x"]}
    )
    table = np.column_stack(list(exact.values()))
    np.savez(tmp_path / "table.npz", table)
    np.save(tmp_path / "table.npy", table)
    for name in ("r.txt.gz", "named.npz", "table.npz", "table.npy"):
        read = read_result_file(tmp_path / name, problem, None if "named" in name else "t,x,y")
        assert all(np.array_equal(read.columns[n], exact[n]) for n in exact), name
        content = (tmp_path / name).read_bytes()
        for damaged in (
            content[: len(content) // 2],
            content[:20] + b"x" * 20 + content[40:],
            b"x",
        ):
            (tmp_path / f"bad-{name}").write_bytes(damaged)
            with pytest.raises(ResultFileError):
                read_result_file(tmp_path / f"bad-{name}", problem, "t,x,y")


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"t": np.zeros(3), "x": np.zeros(4)}, "shapes of its arrays"),
        ({"t": np.zeros((2, 2, 2))}, "shapes of its arrays"),
        ({"t": np.array(["a", "b"])}, "is of type"),
        ({"t": np.array([{}], dtype=object)}, "cannot be read as NumPy's arrays"),
        ({"t": np.array([0, np.nan]), "x": np.zeros(2)}, "is not a finite number"),
        ({}, "no row of numbers"),
    ],
)
def test_arrays_that_are_no_columns(tmp_path, arrays, why):
    """Other shapes, text and objects are rejected in a sentence; no object is unpickled."""
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ResultFileError, match=why):
        read_result_file(tmp_path / "a.npz", problems.get("simple-pendulum"), None)


@pytest.mark.slow
def test_archives_that_unpack_to_much_are_rejected(tmp_path):
    """Blank lines without end, and 208 MB of zeros in a few hundred kilobytes."""
    problem = problems.get("simple-pendulum")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"\n" * 1_000_000))
    with pytest.raises(ResultFileError, match="line 10001: no row of numbers up to here"):
        read_result_file(tmp_path / "a.txt.gz", problem)
    np.savez_compressed(tmp_path / "a.npz", t=np.zeros(26_000_000))
    with pytest.raises(ResultFileError, match="unpacked it has more than 200 MB"):
        read_result_file(tmp_path / "a.npz", problem)


def test_a_cut_last_line_is_named(tmp_path):
    """A file whose writer was stopped, within a number or between two; cut elsewhere it is another mistake."""
    problem = problems.get("simple-pendulum")
    path = written(tmp_path / "r.txt", exact_columns(problem), " ".join(problem.columns), "%.10e")
    lines = path.read_text().splitlines()
    for end in ("10 0.5", "10 0.5 0.25 1.0e", "10 0.5 0.25 -"):
        path.write_text("\n".join([*lines[:-1], end]))
        with pytest.raises(ResultFileError, match=r"line 1002: the last line is cut off, \d of 4"):
            read_result_file(path, problem)
    path.write_text("\n".join([*lines[:500], "5 0.5", *lines[501:]]))
    with pytest.raises(ResultFileError, match="line 501: 2 columns"):
        read_result_file(path, problem)


def many_rows(path, rows, change=lambda lines: lines):
    """A table of the pendulum with many rows, and the problem with their step."""
    problem = problems.get("simple-pendulum")
    problem = replace(problem, output_step=problem.duration / rows)
    columns = exact_columns(problem)
    head = ",".join(columns)
    np.savetxt(
        path, np.column_stack(list(columns.values())), "%.17g", ",", header=head, comments=""
    )
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    return problem, columns


@pytest.mark.slow
def test_long_files_have_the_same_numbers(tmp_path):
    """Lines in blocks give the bits of lines one by one, remarks and Fortran's exponents between them included."""

    def change(lines):
        lines[30_000] = lines[30_000].replace("e", "D") + " # a remark"
        return [*lines[:40_000], "", "# another", *lines[40_000:]]

    problem, exact = many_rows(tmp_path / "r.csv", 60_000, change)
    read = read_result_file(tmp_path / "r.csv", problem)
    assert all(np.array_equal(read.columns[name], exact[name]) for name in exact)
    assert judge_columns(problem, read.columns, read.rounding).passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nan,0,0,0", "is not a finite number"),
        ("5,0,0", "3 columns"),
        ("5,0,zero,0", "'zero'"),
        ("7,0,0,0", "where .* is due"),
    ],
)
def test_mistakes_far_down_are_named_with_their_line(tmp_path, line, why):
    """A bad line in a block of good ones has its own number and reason."""

    def change(lines):
        return [*lines[:33_333], line, *lines[33_334:]]

    problem, _ = many_rows(tmp_path / "r.csv", 50_000, change)
    with pytest.raises(ResultFileError, match=f"line 33334: .*{why}"):
        read_result_file(tmp_path / "r.csv", problem)


@pytest.mark.slow
def test_a_million_rows_take_seconds(tmp_path):
    """At most 8 us of CPU time per row for reading and judging; line by line it was 14 us."""
    problem, _ = many_rows(tmp_path / "r.csv", 200_000)
    begin = time.process_time()
    read = read_result_file(tmp_path / "r.csv", problem)
    assert judge_columns(problem, read.columns, read.rounding).passed
    assert time.process_time() - begin < 200_000 * 8e-6


def test_fortran_exponents_and_comments(tmp_path):
    """1.0D+00, and remarks with !, % and #."""
    problem = problems.get("n-four-bar", windows=2)
    exact = some(problem, "t", "x", "y")
    path = written(tmp_path / "r.txt", exact, "! made by F77\n! t x y", "%.15e")
    path.write_text(path.read_text().replace("e+", "D+").replace("e-", "D-"))
    read = read_result_file(path, problem)
    np.testing.assert_allclose(read.columns["y"], exact["y"], rtol=1e-14)


@pytest.mark.slow
def test_rows_with_gaps_only_on_request(tmp_path):
    """A missing row is rejected; with --sparse the others are judged, and that is reported."""
    problem = problems.get("n-four-bar", windows=2)
    columns = {name: np.delete(c, [7, 30]) for name, c in some(problem, "t", "x", "y").items()}
    path = written(tmp_path / "r.txt", columns, "t x y")
    rejected = call(path, problem.id, "--windows", 2)
    assert "--sparse" in str(rejected.exception)
    answer = call(path, problem.id, "--windows", 2, "--sparse")
    assert answer.exit_code == 0, answer.output
    assert "399 rows where the source requires 401" in answer.output
    # no end, and times that run back, are rejected as ever
    short = {name: c[:100] for name, c in columns.items()}
    assert "ends at t =" in str(
        call(written(path, short, "t x y"), problem.id, "--sparse").exception
    )
    back = {name: c[::-1] for name, c in columns.items()}
    assert "first row" in str(call(written(path, back, "t x y"), problem.id, "--sparse").exception)
