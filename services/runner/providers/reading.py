"""What the scripted provider finds in plain text: file names, URLs, quotes, methods, dates. No meaning is made here."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

SUFFIXES: Final = frozenset(
    ["md", "txt", "log", "csv", "tsv", "json", "jsonl", "ndjson", "yaml", "yml", "toml", "ini", "cfg", "rst", "org",
     "tex", "html", "xml", "diff", "patch"]
)  # fmt: skip
"""What makes a word a file name: `notes.md` is one, `example.com` is not."""
_QUOTED: Final = re.compile(
    r"\"([^\"\n]+)\"|“([^”\n]+)”|„([^“”\n]+)[“”]|«([^»\n]+)»|`([^`\n]+)`|(?<!\w)'([^'\n]+)'(?!\w)"
)
_AROUND: Final = "\"'`“”„«»()[]{}<>,;:!?"
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def file_names(text: str) -> Iterator[str]:
    """File names in order: quoted ones may hold spaces, others are one word. Never part of a URL or an address."""
    for quote in quotes(text):
        if " " in quote and _is_file_name(quote):
            yield quote
    for word in text.split():
        name = word.strip(_AROUND).rstrip(".")
        if "://" not in name and "@" not in name and _is_file_name(name):
            yield name


def urls(text: str) -> Iterator[str]:
    """http and https URLs in order, without the punctuation of the sentence around them."""
    for word in text.split():
        start = word.lower().find("http")
        candidate = word[start:].rstrip(_AROUND + ".") if start >= 0 else ""
        if candidate.lower().startswith(("http://", "https://")) and _has_host(candidate):
            yield candidate


def quotes(text: str) -> Iterator[str]:
    """What stands in quotation marks or back-ticks, in order."""
    for match in _QUOTED.finditer(text):
        yield next(group for group in match.groups() if group is not None).strip()


def quoted_text(text: str) -> str | None:
    """The first quote that is neither a file name nor a URL."""
    return next((q for q in quotes(text) if q and not _is_file_name(q) and not any(urls(q))), None)


def method(text: str) -> str | None:
    """An HTTP method written in capitals."""
    return next((word for word in (w.strip(_AROUND) for w in text.split()) if word in METHODS), None)


def iso_date(text: str) -> str | None:
    """The first date written as YYYY-MM-DD."""
    for word in (w.strip(_AROUND).rstrip(".") for w in text.split()):
        try:
            if len(word) == 10:
                return datetime.date.fromisoformat(word).isoformat()
        except ValueError:
            continue
    return None


def says(text: str, phrases: frozenset[str]) -> bool:
    """Whether one of the phrases stands in the text as whole words, in any case."""
    plain = " " + " ".join(word.strip(_AROUND + ".").lower() for word in text.split()) + " "
    return any(f" {phrase} " in plain for phrase in phrases)


def fit(text: str, most: int) -> str:
    """At most `most` characters and bytes; a cut shows as `…`."""
    if len(text.encode("utf-8", "replace")) <= most:
        return text
    return text.encode("utf-8", "replace")[: most - 3].decode("utf-8", "ignore") + "…"


def _is_file_name(text: str) -> bool:
    stem, dot, suffix = text.rpartition(".")
    return bool(stem and dot) and suffix.lower() in SUFFIXES and "://" not in text and not stem.endswith("/")


def _has_host(url: str) -> bool:
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False
