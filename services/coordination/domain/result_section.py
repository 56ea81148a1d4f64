"""The `## Result` section of a worker's final text, by CommonMark's block structure and by no regex (C.5, PUB10)."""

from __future__ import annotations

from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER: Final = MarkdownIt("commonmark")


def result_section(text: str) -> str | None:
    """The source text of the first top-level level-2 heading `Result` (any case, one trailing colon allowed) that has
    a non-empty body, up to the next top-level heading of level 1 or 2; trimmed. None where there is none, or only
    empty ones: the full text is the result then."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    tokens = _PARSER.parse(text)
    lines = text.split("\n")
    headings = [
        (token.map, token.tag, _words(tokens[place + 1]))
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map is not None
    ]
    for place, (span, tag, words) in enumerate(headings):
        if tag != "h2" or words != "result":
            continue
        end = next((later[0] for later, level, _ in headings[place + 1 :] if level in ("h1", "h2")), len(lines))
        body = "\n".join(lines[span[1] : end]).strip()
        if body:
            return body
    return None


def _words(inline: Token) -> str:
    return inline.content.strip().removesuffix(":").strip().casefold()
