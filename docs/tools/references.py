"""The bibliography of the pages: `docs/references.bib` as a page, and keys in brackets as links to it."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

BIBLIOGRAPHY = Path(__file__).parents[1] / "references.bib"
ENTRY = re.compile(r"@(\w+)\{(\w+),(.*?)\}\s*(?=@|\Z)", re.DOTALL)
FIELD = re.compile(r"(\w+)\s*=\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}", re.DOTALL)
# one or several keys in brackets, each with a place in the source: [Pryce2001], [Hairer1996, sec. IV.8]
CITED = re.compile(r"(?<![\w`!\]])\[([A-Z][A-Za-z]*(?:\d{4})?(?:,\s[^\]\[`$]*)?)\](?![(\[`])")
COMBINING = {
    "'": "\u0301",
    "`": "\u0300",
    '"': "\u0308",
    "^": "\u0302",
    "~": "\u0303",
    "c": "\u0327",
}
LETTERS = {r"{\o}": "ø", r"{\O}": "Ø", r"{\ss}": "ß"}
ACCENT = re.compile(r"""\{\\(['`"^~]|c(?=\{))\{?([A-Za-z])\}?\}""")


def load_entries(path: Path = BIBLIOGRAPHY) -> dict[str, dict[str, str]]:
    """All entries by key: their fields as plain text."""
    return {
        key: {name.lower(): _plain(value) for name, value in FIELD.findall(body)} | {"kind": kind}
        for kind, key, body in ENTRY.findall(path.read_text(encoding="utf-8"))
    }


def _plain(text: str) -> str:
    """A field without braces and with letters in place of their commands; formulas stay."""
    for command, letter in LETTERS.items():
        text = text.replace(command, letter)
    text = ACCENT.sub(lambda m: unicodedata.normalize("NFC", m[2] + COMBINING[m[1]]), text)
    text = text.replace("--", "\N{EN DASH}").replace(r"\&", "&")
    return " ".join(re.sub(r"[{}]", "", text).split())


def write_page(entries: dict[str, dict[str, str]]) -> str:
    """The page of references, in the order of keys."""
    lines = [
        "# References",
        "",
        "Sources of methods, problems and known linkages, by the keys that pages use.",
    ]
    for key in sorted(entries):
        lines += ["", f"### {key}", "", _cite(entries[key])]
    return "\n".join(lines) + "\n"


def _cite(entry: dict[str, str]) -> str:
    authors = [" ".join(reversed(name.split(", "))) for name in entry["author"].split(" and ")]
    named = ", ".join(authors[:-1]) + " and " + authors[-1] if len(authors) > 1 else authors[0]
    out = f"{named}: *{entry['title']}*."
    where = [
        entry[name]
        for name in ("journal", "booktitle", "publisher", "institution")
        if name in entry
    ]
    if "volume" in entry:
        number = f"({entry['number']})" if "number" in entry else ""
        where.append(f"{entry['volume']}{number}")
    if "edition" in entry:
        where.append(f"edition {entry['edition']}")
    if "pages" in entry:
        where.append(entry["pages"])
    where += [entry[name] for name in ("howpublished", "year") if name in entry]
    out += f" {', '.join(where)}." if where else ""
    return out + (
        f" [doi:{entry['doi']}](https://doi.org/{entry['doi']})" if "doi" in entry else ""
    )


def link_citations(text: str, keys: set[str], up: str) -> str:
    """Link keys in brackets to the page of references; blocks and code stay as they are."""

    def link(found: re.Match[str]) -> str:
        parts = re.split(r",\s+", found[1])
        if parts[0] not in keys:
            return found[0]
        return "[" + ", ".join(_link(part, keys, up) for part in parts) + "]"

    fences = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if k % 2 else CITED.sub(link, part) for k, part in enumerate(fences))


def _link(part: str, keys: set[str], up: str) -> str:
    return f"[{part}]({up}references.md#{part.lower()})" if part in keys else part
