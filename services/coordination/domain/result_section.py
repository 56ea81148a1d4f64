"""The `## Result` section of a worker's final text, by markdown-it-py's CommonMark block structure (C.5, PUB10).

The result is the author's own text: line ends, fences and indentation as they were written. Where the structure says
nothing, or costs too much to find out, the answer is None and the full text is the result, so that nothing is lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

LINES_MOST: Final = 300_000
"""Lines of a text that is looked at; one with more counts as one without a section. 3 MiB of prose have 40,000."""
LOOKS_MOST: Final = 300_000
"""How often a line may be looked at for what it begins (which counts four times) or ends, over all containers that it
lies in; lines inside fences, code and HTML are not. Above it the text counts as one without a section. Bounds the work
to about a second, whatever the text."""
_TITLE_MOST: Final = 40
"""A longer heading is not `Result`."""
_TITLES_MOST: Final = 1_000
"""So many headings `Result` are none that anybody meant."""
_LINE_END: Final = re.compile(r"\r\n?|\n")
_MAY_BE_HEADING: Final = re.compile(r"^ {0,3}##?(?:[ \t]|$)", re.MULTILINE)
_MAY_BE_START: Final = re.compile(r"^ {0,3}##[ \t]", re.MULTILINE)
"""Where no line matches there is nothing to parse for. What a line that matches is, the parser says."""
_NO_LETTER: Final = re.compile(r"[^a-z]")
_INLINE: Final = MarkdownIt("commonmark")


@dataclass(frozen=True, slots=True)
class _Heading:
    """A top-level heading: its level, the source of its words, its line and the one behind it."""

    level: int
    title: str
    line: int
    behind: int


class _TooMuch(Exception):
    """The structure costs more than it may."""


def result_section(text: str) -> str | None:
    """The source of the first top-level ATX heading of level 2 that reads `Result` (any case, one trailing colon
    allowed) and has a non-empty body, up to the next top-level ATX heading of level 1 or 2. None where there is none,
    or only empty ones. Setext headings are none (A8): a rule of dashes under a paragraph must not end a deliverable.

    Never raises. Takes milliseconds for what people write, and up to a second for 3 MiB made to be slow: call it from
    a thread for long texts (application/sectioning.py).
    """
    source = _LINE_END.sub("\n", text)
    read = _worth_reading(source)
    if not read:
        return None
    try:
        headings = _headings(source[:read])
    except _TooMuch:
        return None
    starts = _starts(text, headings)
    for place, heading in enumerate(headings):
        if _is_result(heading):
            end = starts[headings[place + 1].line] if place + 1 < len(headings) else len(text)
            body = _trimmed(text[starts[heading.behind] : end])
            if body:
                return body
    return None


def _worth_reading(source: str) -> int:
    """How much of the text the sections hang on: up to the last line that may be a heading. Blocks depend on nothing
    that comes later. 0: there can be no section."""
    first = _MAY_BE_START.search(source)
    if first is None:
        return 0
    last = first.end()
    for found in _MAY_BE_HEADING.finditer(source, last):
        last = found.end()
    end = source.find("\n", last)
    return len(source) if end < 0 else end + 1


def _headings(source: str) -> list[_Heading]:
    """Top-level ATX headings of level 1 and 2, in order."""
    if source.count("\n") > LINES_MOST:
        raise _TooMuch
    parser = MarkdownIt("commonmark")
    parser.block = _Bounded(parser.block)
    tokens: list[Token] = []
    parser.block.parse(source.replace("\0", "\ufffd"), parser, {}, tokens)
    found = [
        _Heading(int(token.tag[1]), tokens[place + 1].content, *token.map)
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.markup in ("#", "##") and token.map is not None
    ]
    if sum(map(_may_be_result, found)) > _TITLES_MOST:
        raise _TooMuch
    return found


def _may_be_result(heading: _Heading) -> bool:
    title = heading.title
    return heading.level == 2 and len(title) <= _TITLE_MOST and _NO_LETTER.sub("", title.casefold()) == "result"


def _is_result(heading: _Heading) -> bool:
    """Whether it reads so, without emphasis and the like."""
    if not _may_be_result(heading):
        return False
    inline = _INLINE.parseInline(heading.title)[0].children or []
    return "".join(token.content for token in inline).strip().removesuffix(":").strip().casefold() == "result"


def _starts(text: str, headings: list[_Heading]) -> list[int]:
    """Where each line of the source begins, as far as headings go."""
    lines = headings[-1].behind if headings else 0
    starts = [0, *(found.end() for found in islice(_LINE_END.finditer(text), lines))]
    return [*starts, len(text)]


def _trimmed(body: str) -> str:
    """Without blank lines and spaces around it; an indentation that makes code of the first line stays."""
    body = body.rstrip()
    words = body.lstrip()
    indentation = body[: len(body) - len(words)]
    indentation = indentation[max(indentation.rfind("\n"), indentation.rfind("\r")) + 1 :]
    return indentation + words if len(indentation.expandtabs(4)) >= 4 else words


class _Bounded(ParserBlock):
    """The block parser; gives up after LOOKS_MOST looks."""

    def __init__(self, rules: ParserBlock) -> None:
        self.ruler = rules.ruler
        chains = ["paragraph", "reference", "blockquote", "list"]
        self.ruler.before("fence", "bounded", self._look, {"alt": chains})
        self._left = LOOKS_MOST

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:  # noqa: N803
        """A quote's lines are stripped of their mark one by one before what they hold is looked at."""
        if state.parentType == "blockquote":
            self._count(endLine - startLine)
        super().tokenize(state, startLine, endLine)

    def _look(self, state: StateBlock, startLine: int, endLine: int, silent: bool) -> bool:  # noqa: N803
        """A rule that matches nothing, asked before the others."""
        self._count(1 if silent else 4)
        return False

    def _count(self, lines: int) -> None:
        self._left -= lines
        if self._left < 0:
            raise _TooMuch
