"""What the scripted provider would append: found in instructions such as “append the rota to rota.md: Tuesday”."""

from __future__ import annotations

from typing import Final

from services.runner.providers import reading
from services.runner.providers.words import Words

APPENDING: Final = frozenset(["append", "add", "write", "note", "record", "log", "save", "put", "insert", "jot"])
"""A file name beside one of these words asks for file_append."""


def text_to_append(words: Words) -> str:
    """A quote; else what follows a file name and a colon, in the title or the description; else, where the title names
    the file, the description or the title without the instruction; else the same with the description's line."""
    if (quote := reading.quoted_text(words.own)) is not None:
        return quote
    description = words.description.splitlines()
    for number, line in enumerate([words.title, *description]):
        if following := _after_colon(line):
            return "\n".join([following, *(description[number:] if number else [])]).strip()
    if any(reading.file_names(words.title)):
        return words.description or _named_in(words.title) or words.title_or_any
    for number, line in enumerate(description):
        if any(reading.file_names(line)):
            others = "\n".join(description[:number] + description[number + 1 :]).strip()
            return _named_in(line) or others or words.title_or_any
    return words.description or words.title_or_any


def _after_colon(line: str) -> str:
    """`append to notes.md: the rota` → `the rota`."""
    for name in reading.file_names(line):
        following = line.partition(name)[2].lstrip("\"'`”»").strip()
        if following.startswith(":"):
            return following[1:].strip()
    return ""


def _named_in(line: str) -> str:
    """`append the rota to x.md` and `append to x.md the rota` → `the rota`; nothing for `append it to x.md` and for a
    line that does not begin with such a word."""
    if line.split(" ", 1)[0].strip(":,").lower() not in APPENDING:
        return ""
    before, _, after = line.partition(next(reading.file_names(line)))
    said = _without_instruction(before)
    return after.strip(" .\"'`”»") if said.lower() in ("", "it", "this", "that", "them") else said


def _without_instruction(text: str) -> str:
    """`Append the rota to the file ` → `the rota`."""
    kept = text.split()
    if kept and kept[0].strip(":,").lower() in APPENDING:
        kept = kept[1:]
    while kept and kept[0].lower() in ("to", "into", "down"):
        kept = kept[1:]
    while kept and kept[-1].lower().strip("\"'`“«") in (
        "to",
        "in",
        "into",
        "at",
        "the",
        "file",
        "end",
        "of",
        "down",
        "",
    ):
        kept = kept[:-1]
    return " ".join(kept).strip(" :,")
