"""Text of users and agents inside our Markdown: it reads as it was written and can forge no heading, table cell, fence,
list or HTML (A5, C.6). Knows CommonMark's and GFM's marks, and nothing of what the text is for."""

from __future__ import annotations

import re
from typing import Final

CUT: Final = "…"
_BREAKS: Final = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What some reader or other takes for the end of a line."""
_HIDDEN: Final = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls, and what turns the direction of the text that follows, which may be ours."""
_ANYWHERE: Final = re.compile(r"[\\`|<]")
"""Marks of code, cells and HTML."""
_FIRST: Final = re.compile(
    "^((?:[^\\S\n]|[\u00ad\u034f\u061c\u180e\u200b-\u200f\u2060-\u2064\ufeff])*)"
    "(?:([-#>+=~:$\\[]|\\*(?= |[* ]*$)|_(?=[_ ]*$))|([0-9]+)([.)]))"
)
"""Marks that begin a block, behind whatever cannot be seen."""


def inline(text: str, most: int | None = None) -> str:
    """As part of a line of ours, or of a table's cell: one line, cut to `most` code points (… included) before its
    marks are escaped."""
    line = " ".join(_plain(text).split())
    if most is not None and len(line) > most:
        line = line[: most - len(CUT)].rstrip() + CUT
    return _ANYWHERE.sub(r"\\\g<0>", line)


def lines(text: str) -> list[str]:
    """As paragraphs: one line for each of the text, blank ones empty. What is indented like code, and could become it,
    is indented by three."""
    shown: list[str] = []
    for line in _plain(text).split("\n"):
        line = line.expandtabs(4).rstrip(" ")
        if line.startswith("    ") and not (shown and shown[-1]):
            line = "   " + line.lstrip(" ")
        shown.append(_FIRST.sub(_escaped, _ANYWHERE.sub(r"\\\g<0>", line)))
    return shown


def quoted(text: str) -> str:
    """As a block quote."""
    return "\n".join(f"> {line}" if line else ">" for line in lines(text))


def item(text: str) -> str:
    """As an item of a list. It begins with words: a blank line behind its mark would end it."""
    return "- " + "\n".join(f"  {line}" if line else "" for line in lines(text)).strip(" \n")


def _plain(text: str) -> str:
    return _HIDDEN.sub("\ufffd", _BREAKS.sub("\n", text))


def _escaped(mark: re.Match[str]) -> str:
    unseen, single, number, behind = mark.groups()
    return f"{unseen}\\{single}" if single else f"{unseen}{number}\\{behind}"
