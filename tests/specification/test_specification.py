"""Specifications: what is read, what is reported about the rest, and that no file breaks the reader."""

import os
import random
import re
import string
import time
from contextlib import suppress
from dataclasses import replace
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sarrus import problems
from sarrus.problems import Limits, Problem
from sarrus.specification import (
    Specification,
    SpecificationError,
    load_specification,
    specification_notes,
    specification_to_problem,
    write_specification,
)
from sarrus.specification.safe_xml import MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS
from sarrus.specification.specification import NAMESPACES

NAMES = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
MECHANISM = (
    "<p>A ladder of N loops, made from 2N+1 links of 1 m length and a mass of 1 kg.\n"
    "Gravity of 9.81 N/kg pulls in the negative <em>y</em> direction.</p>"
    '<center><img src="ladder.gif" width="45%" alt="Ladder with 7 loops"/></center>'
)
ANALYSIS = (
    "<p>Simulate with a duration of 5 s.\nInitially (N=3) the cranks are upright and the velocity "
    "of point B0 in the <em>x</em> direction is 2 m/s.</p>"
)
REFERENCE = (
    "<p>Position and velocity of point B0. Maximun errors: 2.0E-1 (low  precission), 2.0E-3 (high "
    "precission), over 250 output steps, a threshold value of 4.0E-3 below.</p>"
    '<ol><li>Numbers: <a href="data.txt">data 17</a></li>'
    '<li>Film (first 10 s): <a href="film.avi">film.avi</a></li>'
    '<li>Position of point p1: <img src="curve.gif" alt="x"/></li></ol>'
)


def make_text(
    mechanism=MECHANISM,
    analysis=ANALYSIS,
    reference=REFERENCE,
    identifier="A02",
    encoding="UTF-8",
    description="Many loops",
):
    """A specification in the format of the library, in words of our own."""
    return f"""<?xml version="1.0" encoding="{encoding}"?>
<?xml-stylesheet type="text/xsl" href="style.xsl"?>
<mbsb:benchmark id="{identifier}" type="A" lang="es" {NAMES}
  xsi:schemaLocation="{NAMESPACES["mbsb"]} nowhere.xsd" schemaVersion="0.1">
  <rdf:RDF><rdf:Description rdf:about="here.xml">
    <dc:title> Ladder of loops </dc:title>
    <dc:date> 2001-02-03 </dc:date>
    <dc:description>{description}</dc:description>
    <dc:publisher> Taller de Máquinas </dc:publisher>
    <dc:creator> María Núñez </dc:creator>
  </rdf:Description></rdf:RDF>
  <vCard:vCardSet><vCard:vCard version="3.0"><vCard:fn> María Núñez </vCard:fn>
    <vCard:email> maria@example.org </vCard:email><vCard:tel> 123 </vCard:tel>
  </vCard:vCard></vCard:vCardSet>
  <mbsb:mechanismDescription>{mechanism}</mbsb:mechanismDescription>
  <mbsb:analysisDescription>{analysis}</mbsb:analysisDescription>
  <mbsb:mbsModel format="MBS-ML" url="ladder.xml"/>
  <mbsb:referenceSolution>{reference}</mbsb:referenceSolution>
  <mbsb:measures><mbsb:measure title="Time"> Seconds of the processor. </mbsb:measure></mbsb:measures>
</mbsb:benchmark>
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The file that is written again for each reading."""
    return tmp_path_factory.mktemp("specifications") / "file.xml"


@pytest.fixture(scope="module")
def read(place):
    """Reads a text or bytes as a specification."""

    def read_it(content):
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_specification(place)

    return read_it


def test_everything_said_is_read(read):
    """Attributes, metadata, numbers in prose, files and measures."""
    found = read(make_text())
    assert (found.id, found.type, found.language) == ("A02", "A", "es")
    assert (found.title, found.date) == ("Ladder of loops", "2001-02-03")
    assert (found.description, found.publisher) == ("Many loops", "Taller de Máquinas")
    assert (found.authors, found.emails) == (["María Núñez"], ["maria@example.org"])
    assert (found.duration, found.windows, found.output_steps) == (5.0, 3, 250)
    assert found.limits == Limits(low=0.2, high=0.002, threshold=0.004)
    assert found.threshold == 0.004
    assert (found.start_velocity, found.start_axis, found.start_point) == (2.0, "x", "B0")
    assert (found.gravity, found.gravity_direction) == (9.81, "-y")
    assert (found.link_length, found.link_mass) == (1.0, 1.0)
    assert found.observed == "B0"
    assert found.model == ("ladder.xml", "MBS-ML")
    assert found.figures == ["ladder.gif"]
    kinds = [("data.txt", "data"), ("film.avi", "movie"), ("curve.gif", "plot")]
    assert found.reference_files == kinds
    assert found.measures == [("Time", "Seconds of the processor.")]


def test_every_reading_has_its_line(read):
    """A number that stands in line k of the file is reported there."""
    text = make_text()
    lines = text.splitlines()
    found = read(text).understood
    assert len(found) > 20
    words = {"duration": "of 5 s", "windows N": "N=3", "start velocity": "2 m/s", "gravity": "9.81"}
    for what, value, where in found:
        number = int(where.rpartition(" ")[2])
        if what in words:
            assert words[what] in lines[number - 1], (what, value, where)


def test_what_is_not_understood_is_listed(read):
    """Strange elements, attributes and numbers are named; another point in a list is, too."""
    extra = "<p>Its 13 springs are soft. <blink>Lo!</blink></p><p weight='7'>Nothing.</p>"
    found = read(make_text(mechanism=MECHANISM + extra)).not_understood
    text = "\n".join(found)
    for part in ("13 in 'Its 13 springs", "element blink", "weight = '7'", "point p1", "tel"):
        assert part in text
    # nothing else: the formula 2N+1, pictures, links and layout are no riddles
    assert len(found) == 5


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("It has a duration of 20 s.", 20.0),
        ("The duration is 20 seconds.", 20.0),
        ("Total time: 1.5E1 s", 15.0),
        ("The simulated time equals .5 s.", 0.5),
        ("Simulation time of 2.5D+2 s.", 250.0),
        ("A 10 s simulation is made.", 10.0),
        ("A 10-second long dynamic simulation is made.", 10.0),
        ("It is simulated for 600 s.", 600.0),
        ("The analysis lasts 2 min.", 120.0),
        ("A duration of 500 ms.", 0.5),
        ("The motion from 0 to 20 s is computed.", 20.0),
        ("The motion from t = 0 s to 20 s is computed.", 20.0),
        ("La simulación tiene una duración de 20 segundos.", 20.0),
        ("Se simula durante 12,5 s.", 12.5),
        ("Tiempo de simulación: 20 s.", 20.0),
        ("A duration of 2\N{MULTIPLICATION SIGN}10<sup>1</sup> s.", 20.0),
        ("A duration of 10² s.", 100.0),
        # no duration
        ("The duration is 20 to 30 s.", None),
        ("A duration of 20-30 s.", None),
        ("A duration of 1.2.3 s.", None),
        ("The first 10 s are drawn.", None),
        ("A duration of 20 m.", None),
        ("A duration of some s and a mass of 5 kg.", None),
        ("The duration is long. It has 20 s.", None),
    ],
)
def test_duration_wordings(read, words, expected):
    """A duration is read in many wordings; where the wording is something else it is not."""
    found = read(make_text(analysis=f"<p>{words}</p>"))
    assert found.duration == expected
    if expected is None:
        assert any("analysisDescription" in line for line in found.not_understood)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("The system (particularised for N=40) starts.", 40),
        ("Here N is 7.", 7),
        ("Let N be large, N = 1E2.", 100),
        ("A row of 12 four-bar linkages.", 12),
        ("A row of 12 windows.", 12),
        ("Con N igual a 9.", 9),
        ("Una fila de 9 ventanas.", 9),
        ("The freedom rises to N+1, from N - 1.", None),
        ("A force of 40 N acts.", None),
        ("Take n = 3 of them.", None),
    ],
)
def test_window_wordings(read, words, expected):
    """The number of windows is a number next to N or next to windows, never a newton."""
    assert read(make_text(analysis=f"<p>{words}</p>")).windows == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Limits are 0.1 (low precision) and 0.001 (high precision).", (0.1, 0.001, None)),
        ("Low precision: 0.1. High precision: 0.001.", (0.1, 0.001, None)),
        ("The low precision limit is 1E-1; the high precision limit is 1E-3.", (0.1, 0.001, None)),
        ("Errors 1e-1 for low accuracy, 1e-3 for high accuracy.", (0.1, 0.001, None)),
        ("10<sup>-1</sup> (low precision), 10⁻³ (high precision)", (0.1, 0.001, None)),
        ("2 x 10^-1 (low precision), 10^{-3} (high precision)", (0.2, 0.001, None)),
        ("Errores de 1,0E-1 (baja precisión) y 1,0E-3 (alta precisión).", (0.1, 0.001, None)),
        ("0.1 (precisión baja), umbral de 1,0E-3.", (0.1, None, 0.001)),
        ("A threshold of 1.0E-3.", (None, None, 0.001)),
        ("With threshold = .5", (None, None, 0.5)),
        ("The threshold value is 1.0\N{MINUS SIGN}3", (None, None, None)),
        ("A threshold and 400 output steps.", (None, None, None)),
    ],
)
def test_limit_wordings(read, words, expected):
    """Limits and threshold are read in either order of word and number."""
    limits = read(make_text(reference=f"<p>{words}</p>")).limits
    assert (limits.low, limits.high, limits.threshold) == expected


@pytest.mark.parametrize(
    ("words", "speed", "axis", "point"),
    [
        ("At the start the velocity of point B1 in the y direction is -2.5 m/s.", -2.5, "y", "B1"),
        ("Initially, velocity of the <em>x</em>-coordinate of point C2 is 3 m/s.", 3.0, "x", "C2"),
        ("The initial speed is 3 m/s.", 3.0, None, None),
        ("It starts at rest.", 0.0, None, None),
        (
            "Inicialmente la velocidad de la coordenada x del punto B<sub>0</sub> es 1 m/s.",
            *(1.0, "x", "B0"),
        ),
        ("Inicialmente en reposo.", 0.0, None, None),
        ("Initially the angular velocity is 1 rad/s.", None, None, None),
        ("Later the velocity is 4 m/s.", None, None, None),
        ("Initially the acceleration due to velocity is 4 m/s<sup>2</sup>.", None, None, None),
    ],
)
def test_start_wordings(read, words, speed, axis, point):
    """The start velocity needs a word of the start and its unit."""
    found = read(make_text(analysis=f"<p>{words}</p>"))
    assert (found.start_velocity, found.start_axis, found.start_point) == (speed, axis, point)


@pytest.mark.parametrize(
    ("words", "size", "way"),
    [
        ("Gravity is 9.81 m/s2 along -z.", 9.81, "-z"),
        ("Gravity is 9.8 m/s<sup>2</sup> in the positive direction of x.", 9.8, "+x"),
        ("Gravity of -9.81 N/kg in the y direction.", 9.81, "-y"),
        ("La gravedad (9.81 m/s²) actúa en la dirección negativa del eje y.", 9.81, "-y"),
        ("With g = 9.81 m/s^2.", 9.81, None),
        ("The acceleration is 9.81 m/s2.", None, None),
    ],
)
def test_gravity_wordings(read, words, size, way):
    """Gravity is a size and, if said, a direction."""
    found = read(make_text(mechanism=f"<p>{words}</p>"))
    assert (found.gravity, found.gravity_direction) == (size, way)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"analysis": "<p>A duration of nan s.</p>"}, "finite"),
        ({"analysis": "<p>A duration of inf s.</p>"}, "finite"),
        ({"analysis": "<p>A duration of 1e999 s.</p>"}, "finite"),
        ({"analysis": "<p>A duration of -5 s.</p>"}, "positive"),
        ({"analysis": "<p>A duration of 0 s.</p>"}, "positive"),
        ({"analysis": "<p>A duration of 1e7 s.</p>"}, "above"),
        ({"analysis": "<p>A duration of 1,000 s.</p>"}, "thousand"),
        ({"analysis": "<p>A duration of 5 s.</p><p>A duration of 6 s.</p>"}, "but 5.0 in line"),
        ({"analysis": "<p>N = 2.5</p>"}, "whole"),
        ({"analysis": "<p>N = 0</p>"}, "positive"),
        ({"analysis": "<p>N = 1000000000</p>"}, "above"),
        ({"analysis": "<p>N = 4</p>", "description": "5 windows"}, "but 5 in line"),
        ({"analysis": "<p>Initially the velocity is nan m/s.</p>"}, "finite"),
        ({"reference": "<p>A threshold of -1e-3.</p>"}, "positive"),
        ({"reference": "<p>A threshold of 1e-999.</p>"}, "positive"),
        ({"reference": "<p>With -400 output steps.</p>"}, "positive"),
        ({"reference": "<p>0.1 (high precision), 0.001 (low precision)</p>"}, "finer"),
        ({"mechanism": f"<p>{'a' * 2001}</p>"}, "longer than"),
        ({"mechanism": f"<p>{'Some. ' * 20_000}</p>"}, "characters of prose"),
        ({"identifier": " "}, "no id"),
    ],
)
def test_wrong_numbers_are_rejected_with_their_line(read, changes, expected):
    """A number that cannot be meant is an error in the line where it stands."""
    with pytest.raises(SpecificationError, match=r"^file\.xml, line \d+: ") as caught:
        read(make_text(**changes))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


# encodings


@pytest.mark.parametrize("encoding", ["UTF-8", "utf-8", "ISO-8859-1", "latin1"])
def test_both_encodings_read_the_same(read, encoding):
    """The bytes differ, the words do not."""
    found = read(make_text(encoding=encoding).encode(encoding))
    assert found.publisher == "Taller de Máquinas"
    assert found.notes == []
    assert replace(found, notes=[]) == replace(read(make_text()), notes=[])


def test_a_byte_order_mark_is_no_harm(read):
    """UTF-8 with the mark some editors write."""
    assert read(b"\xef\xbb\xbf" + make_text().encode()).publisher == "Taller de Máquinas"


def test_utf8_under_a_wrong_name_is_read_with_a_note(read):
    """A file that says ISO-8859-1 and is UTF-8 keeps its accents, and a note states."""
    found = read(make_text(encoding="ISO-8859-1").encode())
    assert found.authors == ["María Núñez"]
    assert "UTF-8" in found.notes[0]
    assert found.notes[0] in specification_notes(found)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (make_text().encode("utf-16"), "UTF-16"),
        (make_text().encode("utf-16-le"), "UTF-16"),
        (make_text().encode("utf-16-be"), "UTF-16"),
        (make_text().encode("utf-32"), "UTF-16 or UTF-32"),
        (make_text(encoding="windows-1252").encode("cp1252"), "'windows-1252' is not read"),
        (make_text(encoding="UTF-16").encode(), "'UTF-16' is not read"),
        (make_text().encode("latin-1"), "not UTF-8"),
    ],
)
def test_other_encodings_give_one_message(read, content, expected):
    """What is neither UTF-8 nor ISO-8859-1 is rejected by name."""
    with pytest.raises(SpecificationError, match=expected):
        read(content)


# hostile files


def hide(text, before="<?xml-stylesheet"):
    """A valid file with something put in front of its root."""
    return make_text().replace(before, text + before, 1)


LAUGHS = "<!DOCTYPE a [<!ENTITY l0 'ha'>{}]>".format(
    "".join(f"<!ENTITY l{i + 1} '{f'&l{i};' * 10}'>" for i in range(12))
)
HOSTILE = {
    "empty": (b"", "empty"),
    "blank": (b" \n\t ", "empty"),
    "zeros": (bytes(1000), "not XML"),
    "binary": (random.Random(1).randbytes(5000), ""),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(50), ""),
    "prose": ("Dear reader", "not XML"),
    "json": ('{"id": "A02"}', "not XML"),
    "web page": ("<html><body><p>A duration of 5 s.</p></body></html>", "the root is 'html'"),
    "document type": (hide("<!DOCTYPE html>"), "document type"),
    "billion laughs": (hide(LAUGHS).replace("Many loops", "&l12;"), "document type"),
    "external entity": (
        hide("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>").replace("Many loops", "&x;"),
        "document type",
    ),
    "external subset": (hide("<!DOCTYPE a SYSTEM 'http://localhost/a.dtd'>"), "document type"),
    "parameter entity": (
        hide("<!DOCTYPE a [<!ENTITY % p SYSTEM 'http://localhost/p'> %p;]>"),
        "document type",
    ),
    "undefined entity": (make_text(description="&nbsp;"), "undefined entity"),
    "deep": (make_text(mechanism="<div>" * MAX_DEPTH + "</div>" * MAX_DEPTH), "deep"),
    "very deep": ("<a>" * 100_000, "deep"),
    "many": (make_text(mechanism="<br/>" * MAX_ELEMENTS), "elements"),
    "huge": (make_text(description="a" * MAX_BYTES), "larger"),
    "wrong root": ("<benchmark id='A02'/>", "the root is 'benchmark'"),
    "other namespace": (f"<m:benchmark xmlns:m='{MAX_BYTES}' id='A02'/>", "the root is"),
    "no id": (f"<m:benchmark xmlns:m='{NAMESPACES['mbsb']}'/>", "no id"),
    "unbound prefix": ("<mbsb:benchmark id='A02'/>", "not XML"),
    "two roots": (make_text() + "<p/>", "not XML"),
    "twice an attribute": (
        f"<m:benchmark xmlns:m='{NAMESPACES['mbsb']}' id='a' id='b'/>",
        "not XML",
    ),
    "control character": (make_text(description="&#27;[31m"), "not XML"),
    "two models": (
        make_text().replace("<mbsb:mbsModel", "<mbsb:mbsModel url='a'/><mbsb:mbsModel"),
        "second",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_rejected_with_one_sentence(read, name):
    """Nothing is expanded, fetched or followed; the message is one line with the file's name, soon."""
    content, expected = HOSTILE[name]
    begin = time.process_time()
    with pytest.raises(SpecificationError) as caught:
        read(content)
    message = str(caught.value)
    assert message.startswith("file.xml")
    assert expected in message
    assert message.isprintable()
    assert len(message) < 300
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "zero byte"])
def test_what_is_no_file_is_rejected(tmp_path, kind):
    """A path that is nothing, a folder, a pipe or impossible."""
    path = tmp_path / "thing.xml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("no named pipes here")
        os.mkfifo(path)
    elif kind == "zero byte":
        path = "a\0b.xml"
    with pytest.raises(SpecificationError, match="xml: "):
        load_specification(path)


def test_any_truncation_is_rejected(read):
    """A file that ends early is never read as if it were whole."""
    data = make_text().rstrip().encode()
    for end in range(0, len(data), 37):
        with pytest.raises(SpecificationError):
            read(data[:end])


@pytest.mark.parametrize(
    "words",
    [
        "duration " * 200,
        "1" * 1900,
        "1 " * 900,
        "N " * 900,
        "velocity initially " * 90,
        "low precision (" * 120,
        "gravity 9 N/kg " + "negative " * 200,
        "point B0 position " * 100,
    ],
)
def test_no_wording_takes_long(read, words):
    """Patterns on text made to slow them down: 50 such sentences in some CPU seconds."""
    text = f"<p>{words}</p>" * 50
    begin = time.process_time()
    with suppress(SpecificationError):
        read(make_text(mechanism=text, analysis=text, reference=text))
    assert time.process_time() - begin < 5


def test_what_a_terminal_would_obey_is_taken_out(read):
    """Control characters of ISO-8859-1 and text direction marks do not reach the screen."""
    text = make_text(description="red \x9b31m \N{RIGHT-TO-LEFT OVERRIDE} end")
    assert read(text).description == "red ?31m ? end"


# fuzzing: either a specification or a SpecificationError


def survives(read, content):
    """Read it, and make a problem of it; only a SpecificationError may come."""
    try:
        found = read(content)
    except SpecificationError:
        return
    assert isinstance(found, Specification)
    assert all(c.isprintable() for row in found.understood for c in row)
    assert all(line.isprintable() for line in found.not_understood)
    with suppress(SpecificationError):
        assert isinstance(specification_to_problem(found), Problem)
        specification_notes(found)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=300))
def test_random_bytes(read, data):
    """Bytes, alone and after the start of a real file."""
    survives(read, data)
    survives(read, make_text().encode()[:700] + data)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    cuts=st.lists(
        st.tuples(
            st.integers(0, 3000),
            st.integers(0, 40),
            st.one_of(st.binary(max_size=6), st.sampled_from([b"<", b"&", b"nan", b"-", b"]]>"])),
        ),
        max_size=4,
    ),
    encoding=st.sampled_from(["UTF-8", "ISO-8859-1"]),
)
def test_random_mutations_of_a_valid_file(read, cuts, encoding):
    """Pieces cut out of a real file and others put in."""
    data = make_text(encoding=encoding).encode(encoding)
    for begin, length, new in cuts:
        data = data[:begin] + new + data[begin + length :]
    survives(read, data)


WORDS = [
    *("duration of", "velocity", "initially", "N =", "output steps", "threshold"),
    *("(low precision)", "high precision", "gravity", "J", "m", "m/s"),
    *("s", "N/kg", "kg", "rods", "energy", "at most"),
    *("point B0", "position", "at the end", "-", ".", ";"),
    *("1.0E-3", "40", "nan", "inf", "1e999", "-2"),
    *("0", ".", "10^", "1,000", "square section", "from rest"),
    *("negative y", "first"),
]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(parts=st.lists(st.lists(st.sampled_from(WORDS), max_size=30), min_size=3, max_size=3))
def test_random_sentences(read, parts):
    """The very words that the patterns look for, in any order."""
    survives(read, make_text(*(f"<p>{escape(' '.join(words))}</p>" for words in parts)))


NAME = st.sampled_from(
    [
        *("mbsb:benchmark", "mbsb:referenceSolution", "mbsb:analysisDescription", "mbsb:mbsModel"),
        *(
            "mbsb:measure",
            "dc:title",
            "dc:creator",
            "vCard:fn",
            "p",
            "li",
            "a",
            "img",
            "sup",
            "odd",
        ),
    ]
)
ATTRIBUTE = st.sampled_from(["id", "url", "format", "href", "src", "title", "schemaVersion"])
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8).map(escape)
VALUE = st.text(string.printable, max_size=8).map(lambda text: escape(text, {'"': "&quot;"}))
TREE = st.recursive(
    TEXT,
    lambda inside: st.builds(
        lambda name, attribute, value, parts: (
            f'<{name} {attribute}="{value}">{"".join(parts)}</{name}>'
        ),
        *(NAME, ATTRIBUTE, VALUE, st.lists(inside, max_size=4)),
    ),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(tree=TREE, identifier=st.text(string.printable, max_size=5))
def test_random_trees(read, tree, identifier):
    """Well-formed XML of any shape below the right root."""
    mark = escape(identifier, {'"': "&quot;"})
    survives(read, f'<mbsb:benchmark id="{mark}" {NAMES}>{tree}</mbsb:benchmark>')


# problems


def same_numbers(problem, other):
    """Whether two problems mean the same run."""
    return (
        (problem.id, problem.duration, problem.limits, problem.options, problem.observed)
        == (other.id, other.duration, other.limits, other.options, other.observed)
    ) and problem.output_step == pytest.approx(other.output_step, rel=1e-15)


@pytest.mark.parametrize("name", problems.names())
def test_round_trip(read, name):
    """A written problem is read back to the last digit, without notes or riddles."""
    problem = problems.get(name)
    found = read(write_specification(problem))
    assert same_numbers(specification_to_problem(found), problem)
    assert found.not_understood == []
    assert specification_notes(found) == []
    assert found.observed == problem.observed
    assert found.authors == ["The Sarrus developers"]
    assert ("results.txt", "data") in found.reference_files


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    duration=st.floats(1e-3, 1e6),
    steps=st.integers(1, 100_000),
    high=st.floats(1e-12, 1e-3),
    threshold=st.floats(1e-9, 1.0),
    windows=st.integers(1, 30),
    speed=st.floats(-100, 100),
)
def test_round_trip_of_other_numbers(read, duration, steps, high, threshold, windows, speed):
    """Any numbers survive, not only the library's."""
    problem = replace(
        problems.get("n-four-bar", windows=windows, speed=speed),
        duration=duration,
        output_step=duration / steps,
        limits=Limits(
            low=10 * high, high=high, threshold=threshold, energy_drift=high, end_error=high
        ),
    )
    found = read(write_specification(problem))
    back = specification_to_problem(found)
    assert (back.duration, back.output_step) == (duration, duration / steps)
    # a limit that the file leaves out is the problem's own, with a note
    assert replace(back.limits, path=None) == problem.limits
    assert back.options == problem.options
    assert len(specification_notes(found)) == 1


@pytest.mark.parametrize("section", [0.0, 0.05, 0.3])
def test_round_trip_of_the_section(read, section):
    """Thin and square rods of Bricard's mechanism."""
    problem = problems.get("rectangular-bricard", section=section)
    assert same_numbers(specification_to_problem(read(write_specification(problem))), problem)


def test_numbers_of_the_file_make_the_problem(read):
    """N, speed, duration, steps and limits are those of the file; the path limit is ours and noted."""
    found = read(make_text())
    problem = specification_to_problem(found)
    assert problem.id == "n-four-bar"
    assert problem.options == {"windows": 3, "speed": 2.0}
    assert (problem.duration, problem.output_step) == (5.0, 0.02)
    assert problem.limits == Limits(low=0.2, high=0.002, threshold=0.004, path=0.5)
    assert len(problem.mechanism().bodies) == 7
    notes = specification_notes(found)
    assert notes == ["limit of the distance from the path: not in the file, 0.5 m is used"]


def test_missing_numbers_are_taken_from_the_problem_and_noted(read):
    """An empty A02 is the library's A02, with a note for each number."""
    found = read(make_text(mechanism="", analysis="", reference=""))
    assert same_numbers(specification_to_problem(found), problems.get("n-four-bar"))
    notes = "\n".join(specification_notes(found))
    for word in (
        "duration",
        "windows N",
        "velocity",
        "observed",
        "steps",
        "low",
        "high",
        "threshold",
    ):
        assert word in notes
    assert len(notes.splitlines()) == 9


def test_a04_takes_the_limits_of_its_file(read):
    """Limits that the problem itself does not have come from the file, if all three are there."""
    analysis = "<p>A duration of 10 s, starting from rest.</p>"
    mechanism = "<p>Five thin rods.</p>"
    reference = REFERENCE.replace("B0", "P3")
    text = make_text(mechanism, analysis, reference, identifier="a04")
    problem = specification_to_problem(read(text))
    assert problem.id == "a04-bricard"
    assert (problem.duration, problem.output_step) == (10.0, 0.04)
    assert problem.limits == Limits(low=0.2, high=0.002, threshold=0.004, end_error=1e-5, path=0.05)
    # without a threshold there is no relative error
    found = read(text.replace("threshold", "bound"))
    assert specification_to_problem(found).limits.high is None
    assert any("not judged" in note for note in specification_notes(found))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"identifier": "A99"}, "A01, A02, A03, A04, A05, double-four-bar"),
        ({"identifier": "A04"}, "no option 'windows'"),
        ({"mechanism": "<p>Links of 2 m length.</p>"}, "length of a link 2"),
        ({"mechanism": "<p>Links of 3 kg.</p>"}, "mass of a link 3"),
        ({"mechanism": "<p>Gravity is 1.62 N/kg.</p>"}, "gravity 1.62"),
        ({"mechanism": "<p>Gravity is 9.81 N/kg in the positive y direction.</p>"}, "along +y"),
        ({"mechanism": "<p>Rods of square section of 0.1 m.</p>"}, "no option 'section'"),
        ({"analysis": ANALYSIS.replace("B0", "B1")}, "point B1"),
        ({"analysis": ANALYSIS.replace("<em>x</em>", "y")}, "along y"),
        ({"reference": REFERENCE.replace("B0", "B2")}, "observed point B2"),
    ],
)
def test_another_mechanism_is_not_run_in_its_place(read, changes, expected):
    """A file that contradicts its problem is an error that names both, never a guess."""
    found = read(make_text(**changes))
    with pytest.raises(
        SpecificationError, match=rf"^{re.escape(found.file)}: .*line \d+: "
    ) as caught:
        specification_to_problem(found)
    assert expected in str(caught.value)


def test_what_cannot_be_written_is_said():
    """An output step that does not divide the duration, and numbers that would not be read back."""
    problem = problems.get("n-four-bar", windows=1)
    with pytest.raises(ValueError, match="does not divide"):
        write_specification(replace(problem, output_step=0.3))
    with pytest.raises(ValueError, match="above"):
        write_specification(replace(problem, duration=2e6, output_step=1e6))
