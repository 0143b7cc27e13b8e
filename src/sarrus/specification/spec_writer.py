"""Write the specification of a problem as XML, in sentences that our reader understands."""

from __future__ import annotations

from datetime import date
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from ..problems import Problem
from .specification import LARGEST, LIBRARY, NAMESPACES, WORDS


def write_specification(problem: Problem) -> str:
    """Return the specification of a problem as XML text, to be stored in UTF-8."""
    steps = round(problem.duration / problem.output_step)
    if steps < 1 or not np.isclose(problem.duration / steps, problem.output_step, rtol=1e-9):
        raise ValueError(
            f"the output step {problem.output_step:g} s of '{problem.id}' does not divide its "
            f"{problem.duration:g} s"
        )
    sizes = {"duration": problem.duration, "output_steps": steps, **problem.options}
    for key, largest in LARGEST.items():
        if sizes.get(key, 0) > largest:
            raise ValueError(f"the {WORDS[key]} of '{problem.id}' is above {largest:g}")
    identifier = next((k for k, v in LIBRARY.items() if v == problem.id), problem.id)
    names = "\n  ".join(f"xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in NAMESPACES.items())
    columns = ", ".join(problem.columns)
    files = [f'Columns {escape(columns)}: <a href="results.txt">results.txt</a>']
    for figure in problem.figures:
        name, title = quoteattr(figure.name + ".png"), quoteattr(figure.title)
        files.append(f"Drawn over time: <img src={name} alt={title}/>")
    items = "\n      ".join(f"<li>{text}</li>" for text in files)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<mbsb:benchmark id={quoteattr(identifier)} type="A" lang="en" schemaVersion="0.1"
  {names}>

  <rdf:RDF>
    <rdf:Description rdf:about={quoteattr(identifier + "_specification.xml")}>
      <dc:title>{escape(problem.title)}</dc:title>
      <dc:date>{date.today().isoformat()}</dc:date>
      <dc:description>{escape(f"{problem.title}; {problem.library}")}</dc:description>
      <dc:publisher>Sarrus</dc:publisher>
      <dc:creator>The Sarrus developers</dc:creator>
    </rdf:Description>
  </rdf:RDF>
  <vCard:vCardSet>
    <vCard:vCard version="3.0" lang="en">
      <vCard:fn>The Sarrus developers</vCard:fn>
    </vCard:vCard>
  </vCard:vCardSet>

  <mbsb:mechanismDescription>
    <p>{escape(" ".join(_mechanism_sentences(problem)))}</p>
  </mbsb:mechanismDescription>

  <mbsb:analysisDescription>
    <p>{escape(" ".join(_analysis_sentences(problem)))}</p>
  </mbsb:analysisDescription>

  <mbsb:mbsModel format="Sarrus" url={quoteattr("sarrus:" + problem.id)}/>

  <mbsb:referenceSolution>
    <p>{escape(" ".join(_limit_sentences(problem, steps)))}</p>
    <ol>
      {items}
    </ol>
  </mbsb:referenceSolution>

  <mbsb:measures>
    <mbsb:measure title="Time">Processor time of the solve, in seconds.</mbsb:measure>
  </mbsb:measures>
</mbsb:benchmark>
"""


def _mechanism_sentences(problem: Problem) -> list[str]:
    mechanism = problem.mechanism()
    rod = mechanism.bodies[0]
    length = float(np.linalg.norm(rod.ends[1] - rod.ends[0])) if rod.ends else 0.0
    strength = float(np.linalg.norm(mechanism.gravity))
    axis = int(np.argmax(np.abs(mechanism.gravity)))
    sign = "negative" if mechanism.gravity[axis] < 0 else "positive"
    alike = all(b.ends and b.mass == rod.mass for b in mechanism.bodies) and not mechanism.springs
    if not alike:
        # The mechanism is too complex for a sentence.
        found = [f"The mechanism is the model {problem.id} of Sarrus."]
    elif "windows" in problem.options:
        found = [f"A row of N windows is built of 2N+1 thin links of {_exact(length)} m"]
    elif problem.options.get("section"):
        found = [f"A closed chain of hinges is built of rods of {_exact(length)} m"]
    else:
        found = [f"A closed chain of hinges is built of thin rods of {_exact(length)} m"]
    if alike:
        found[0] += f", each with a mass of {_exact(rod.mass)} kg."
    if problem.options.get("section"):
        found.append(f"The rods have a square section of {_exact(problem.options['section'])} m.")
    elif "section" in problem.options:
        found.append("It has thin rods.")
    if "damping" in problem.options:
        found.append(f"The damper has a coefficient of {_exact(problem.options['damping'])} N s/m.")
    found.append(f"Gravity is {_exact(strength)} N/kg in the {sign} {'xyz'[axis]} direction.")
    return found


def _analysis_sentences(problem: Problem) -> list[str]:
    found = [f"The motion is computed for a duration of {_exact(problem.duration)} s."]
    if "windows" in problem.options:
        found.append(f"The mechanism has N = {int(problem.options['windows'])}.")
    mechanism = problem.mechanism()
    if mechanism.angular_velocities:
        found.append("Bodies begin to turn as the model says.")
    elif not mechanism.velocities:
        found.append("It starts at rest.")
    for point, velocity in mechanism.velocities:
        axis = int(np.argmax(np.abs(velocity)))
        found.append(
            f"The start velocity, taken at point {point} along {'xyz'[axis]}, is "
            f"{_exact(velocity[axis])} m/s."
        )
    return found


def _limit_sentences(problem: Problem, steps: int) -> list[str]:
    limits = problem.limits
    found = [
        f"Compared is the position and velocity of point {problem.observed}, at {steps} output steps."
    ]
    if limits.low is not None:
        found.append(f"Errors may reach {_exact(limits.low)} (low precision).")
    if limits.high is not None:
        found.append(f"Errors may reach {_exact(limits.high)} (high precision).")
    if limits.threshold is not None:
        found.append(f"Errors are relative, with a threshold of {_exact(limits.threshold)}.")
    if limits.energy_drift is not None:
        found.append(f"The energy may drift by at most {_exact(limits.energy_drift)} J.")
    if limits.end_error is not None:
        found.append(
            f"At the end the point is at most {_exact(limits.end_error)} m from the reference."
        )
    if limits.rms is not None:
        found.append(
            "The root mean square of the errors of place and angle is at most "
            f"{_exact(limits.rms)}."
        )
    if limits.path is not None:
        found.append(f"At any time it is at most {_exact(limits.path)} m from the reference.")
    return found


def _exact(value: float) -> str:
    """Return a number with all its digits."""
    return repr(float(value))
