"""The reader of result files: many formats, one content, one message for each mistake."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from result_files import exact_columns
from sarrus import problems
from sarrus.bench import ResultFileError, load_columns, result_file

# 21 rows of 7 columns: all that a format can do wrong
PROBLEM = replace(problems.get("double-four-bar"), duration=0.2)
COLUMNS = exact_columns(PROBLEM)
TABLE = np.column_stack(list(COLUMNS.values()))
LINES = [" ".join(f"{value:.14e}" for value in row) for row in TABLE]
PLAIN = "\n".join(LINES) + "\n"


def joined(separator, decimal="."):
    """The rows with another separator and decimal sign."""
    return "".join(line.replace(".", decimal).replace(" ", separator) + "\n" for line in LINES)


def changed(line, content):
    """The rows with one of them replaced; lines count from 1."""
    return "\n".join([*LINES[: line - 1], content, *LINES[line:]]) + "\n"


def read(tmp_path, content, problem=PROBLEM):
    """Write text or bytes and load the columns."""
    path = tmp_path / "results.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_columns(path, problem)


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN + "\x1a",
        "\n\n" + PLAIN.replace("\n", "\n\n"),
        joined("\t"),
        joined(","),
        joined(", "),
        joined(",").replace("\n", ",\n"),
        joined(";"),
        joined(" ; "),
        joined(";", ","),
        joined(" ", ","),
        joined("\t", ","),
        '"' + joined('","').replace("\n", '"\n"').rstrip('"'),
        PLAIN.replace("e", "D"),
        PLAIN.replace("e", "d"),
        PLAIN.replace("e", "E"),
        PLAIN.replace("e+00", "").replace("e-", "0E-"),
        PLAIN.replace("0.00000000000000e+00", "1.0-300"),
        "# t x1 v1\n" + PLAIN,
        "% made on 2024-01-05\n%\n" + PLAIN,
        "! Fortran\n// C\n" + PLAIN,
        "t x1 v1 energy a b c\n" + PLAIN,
        "t [s];x1 [m]\n" + joined(";"),
        "Results of double four-bar, version 2.1\n\n   Time      X\n" + PLAIN,
        PLAIN.replace("\n", "  # a remark\n"),
        changed(5, LINES[4] + "\n# half way"),
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
        PLAIN.encode("utf-16-le"),
        PLAIN.encode("utf-16-be"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        PLAIN.encode("utf-32"),
        "# 20 °C\n".encode("latin-1") + PLAIN.encode(),
    ],
)
def test_formats_with_the_same_content(tmp_path, content):
    """Separators, decimal signs, exponents, headers, line ends and encodings change no number."""
    columns = read(tmp_path, content)
    assert tuple(columns) == PROBLEM.columns
    # 1.0-300 stands for a zero
    np.testing.assert_allclose(
        np.column_stack(list(columns.values())), TABLE, rtol=1e-14, atol=1e-299
    )


NAN_AT_4 = LINES[3].rsplit(" ", 1)[0]


@pytest.mark.parametrize(
    ("content", "line", "expected"),
    [
        ("", None, "is empty"),
        ("\n \n", None, "has no row of numbers"),
        ("# only\n# comments\n", None, "has no row of numbers"),
        ("once upon a time\n", None, "has no row of numbers"),
        ("words\n" * 300, 201, "no row of numbers up to here"),
        ("0 1 2 3 4 5\n", 1, "6 columns; 'double-four-bar' has 7: t x vx energy"),
        ("0 1 2 3 4 5\n", 1, "a file of n-four-bar or light-cart-pole has 6"),
        ("0 1 2 3 4 5 6 7\n", 1, "8 columns"),
        ("0,0,0,0,1,0,0,0,0,0,0,0,0,0\n", 1, "decimal commas"),
        ("7\n" + PLAIN, 1, "1 column; "),
        (changed(9, "8e-2 1 2"), 9, "3 columns"),
        (changed(9, "here it failed"), 9, "'here' (column 1, 't') is not a number"),
        (changed(9, LINES[8][:-3] + "x"), 9, "(column 7, 'acceleration') is not a number"),
        (changed(1, "0.0 1 abc 0 0 0 0"), 1, "'abc' (column 3, 'vx') is not a number"),
        (changed(9, LINES[8].replace(" ", " 1_0", 1)), 9, "is not a number"),
        (changed(4, NAN_AT_4 + " nan"), 4, "'acceleration' (column 7) is not a finite number"),
        (changed(4, NAN_AT_4 + " -Infinity"), 4, "not a finite"),
        (changed(4, NAN_AT_4 + " -nan(ind)"), 4, "not a finite"),
        (changed(4, NAN_AT_4 + " -1.#IND"), 4, "not a finite"),
        (changed(4, NAN_AT_4 + " ********"), 4, "not a finite"),
        (changed(4, NAN_AT_4 + " 1e999"), 4, "not a finite"),
        ("\n".join(LINES[1:]), 1, "the first row is at t = 0.01 s, not at 0"),
        (changed(1, LINES[0].replace("0", "5", 1)), 1, "the first row is at t = 5 s"),
        ("\n".join(LINES[::2]), 2, "the step is 0.02 s, the problem requires 0.01 s"),
        ("\n".join(LINES[:5] + LINES[6:]), 6, "t = 0.06 s where 0.05 s is due"),
        ("\n".join(LINES[:5] + LINES[4:]), 6, "t = 0.04 s stands twice"),
        ("\n".join(LINES[:5] + LINES[2:]), 6, "the time runs back from 0.04 to 0.02 s"),
        ("\n".join(LINES[:-1]), 20, "the file ends at t = 0.19 s, the problem at 0.2 s"),
        ("\n".join(LINES[:-1]), 20, "--duration 0.19"),
        (LINES[0], 1, "the file ends at t = 0 s"),
        (PLAIN + LINES[-1].replace("2.0", "2.1", 1), 22, "is beyond the end, 0.2 s"),
        (PLAIN.replace("\n", " "), 1, "147 columns"),
        ("1" * 20_000, 1, "longer than 10000 characters"),
        (b"PK\x03\x04" + bytes(range(256)) * 20, None, "is a binary file"),
        (b"\x1f\x8b\x08" + bytes(200), None, "is a binary file"),
        (np.zeros(100).tobytes(), None, "is a binary file"),
        (np.arange(100.0).tobytes(), None, "is a binary file"),
    ],
)
def test_mistakes_give_one_message(tmp_path, content, line, expected):
    """Each mistake is named with file, line and what is wanted."""
    with pytest.raises(ResultFileError) as caught:
        read(tmp_path, content)
    message = str(caught.value)
    assert expected in message
    assert "\n" not in message
    where = f"results.txt, line {line}:" if line else "results.txt:"
    assert where in message


def test_shifted_times_are_rejected(tmp_path):
    """All times half a step late: rejected at the first row."""
    table = TABLE.copy()
    table[:, 0] += 0.005
    text = "\n".join(" ".join(map(repr, row)) for row in table.tolist())
    with pytest.raises(
        ResultFileError, match=re.escape("t = 0.005 s, not at 0; the times are shifted")
    ):
        read(tmp_path, text)


def test_times_that_add_up_their_rounding_are_read(tmp_path):
    """t = t + 0.01 in double precision is off by far less than what is allowed."""
    problem = problems.get("double-four-bar")
    columns = exact_columns(problem)
    columns["t"] = np.cumsum(np.full(1001, 0.01)) - 0.01
    text = "\n".join(
        " ".join(map(repr, row)) for row in np.column_stack(list(columns.values())).tolist()
    )
    assert len(read(tmp_path, text, problem)["t"]) == 1001


def test_the_step_of_another_problem_is_named(tmp_path):
    """A04 data judged as rectangular Bricard have the step of A04."""
    rows = "\n".join(f"{0.2 * i:.1f} 1 -1 0 0 0 0" for i in range(51))
    with pytest.raises(ResultFileError, match=re.escape("(a04-bricard has 0.2 s)")):
        read(tmp_path, rows, problems.get("rectangular-bricard"))


def test_a_duration_between_two_rows_ends_with_the_row_before(tmp_path):
    """0.195 s at 0.01 s has rows up to 0.19 s; one more or less is rejected."""
    problem = replace(PROBLEM, duration=0.195)
    assert len(read(tmp_path, "\n".join(LINES[:20]), problem)["t"]) == 20
    for rows in (19, 21):
        with pytest.raises(ResultFileError):
            read(tmp_path, "\n".join(LINES[:rows]), problem)


def test_places_that_are_no_file(tmp_path):
    """Folder, missing file, forbidden characters and a device: one message each."""
    for path, expected in (
        (tmp_path, "is a folder"),
        (tmp_path / "none.txt", "there is no such file"),
        (tmp_path / "a\0b", "no such file|cannot be read"),
        ("/dev/null", "is not a regular file"),
        (tmp_path / ("x" * 5000), "cannot be read"),
    ):
        with pytest.raises(ResultFileError, match=expected):
            load_columns(path, PROBLEM)


def test_huge_files_are_rejected_unread(tmp_path):
    """A sparse file of 300 MB and a duration of a year are rejected at once."""
    path = tmp_path / "huge.txt"
    with path.open("wb") as stream:
        stream.truncate(300_000_000)
    with pytest.raises(ResultFileError, match="has 300 MB"):
        load_columns(path, PROBLEM)
    with pytest.raises(ResultFileError, match="5000000 rows"):
        read(tmp_path, PLAIN, replace(PROBLEM, duration=3e7))


def test_a_long_file_is_left_at_its_first_row_too_many(tmp_path, monkeypatch):
    """Rows beyond the end are not read: a thousand times too long costs nothing more."""
    seen = []
    number = result_file._number
    monkeypatch.setattr(result_file, "_number", lambda field: seen.append(1) or number(field))
    with pytest.raises(ResultFileError, match="line 22"):
        read(tmp_path, PLAIN + "0.21 1 1 0 0 0 0\n" * 20_000)
    # 22 rows of 7 fields, and once more for the layout of the first
    assert len(seen) <= 24 * 7


QUICK = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FIELD = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(
        ["nan", "1.#INF", "**", "1d5", "1.0-300", "1_0", "٣", "", "#", "%", "e5", "-", "0x1p3"]
    ),
    st.text(max_size=8),
)
GARBAGE = st.lists(
    st.tuples(st.lists(FIELD, max_size=9), st.sampled_from([" ", ",", ";", "\t", ", "])),
    max_size=12,
).map(lambda rows: "\n".join(separator.join(fields) for fields, separator in rows))


def survives(tmp_path, content):
    """Columns of the right shape, all finite, or the one error."""
    try:
        columns = read(tmp_path, content)
    except ResultFileError as error:
        message = str(error)
    else:
        assert all(len(c) == 21 and np.isfinite(c).all() for c in columns.values())
        return
    assert message.count("\n") == 0


@pytest.mark.slow
@QUICK
@given(st.binary(max_size=300))
def test_any_bytes_give_the_one_error(tmp_path, content):
    """Random bytes never give another exception."""
    survives(tmp_path, content)


@pytest.mark.slow
@QUICK
@given(GARBAGE, st.sampled_from(["utf-8", "utf-16", "utf-16-le", "utf-8-sig"]))
def test_any_rows_give_the_one_error(tmp_path, content, encoding):
    """Rows of numbers, near-numbers and words in any order, in several encodings."""
    survives(tmp_path, content.encode(encoding, errors="replace"))


@pytest.mark.slow
@QUICK
@given(st.integers(0, len(PLAIN) - 1), st.integers(0, 12), st.binary(max_size=12))
def test_a_damaged_file_gives_the_one_error_or_finite_numbers(tmp_path, place, cut, inserted):
    """A good file with bytes cut out and others put in."""
    content = PLAIN.encode()
    survives(tmp_path, content[:place] + inserted + content[place + cut :])
