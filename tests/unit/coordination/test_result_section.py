"""The `## Result` section: every row of PUB10, of A8 and of A9-27 (less its cut), and what is never to happen."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from services.coordination.application.work import Report
from services.coordination.domain.result_section import LINES_MOST, result_section

FENCE = "```"

PUB10 = {
    "1 backtick fence": (f"{FENCE}\n## Result\nfake\n{FENCE}\n\n## Result\nreal\n", "real"),
    "2 tilde fence holds backticks": (f"~~~\n{FENCE}\n## Result\nfake\n~~~\n\n## Result\nreal\n", "real"),
    "3 longer fence holds a whole block": (f"````\n{FENCE}\n## Result\nfake\n{FENCE}\n````\n## Result\nreal\n", "real"),
    "4 info string does not close": (f"{FENCE}py\n{FENCE}js\n## Result\nfake\n{FENCE}\n## Result\nreal\n", "real"),
    "5 closing hashes": ("## Result ##\nreal\n", "real"),
    "5 many closing hashes": ("## Result #######   \nreal\n", "real"),
    "5 hashes of the word": ("## Result##\nreal\n", None),
    "6 CRLF": ("a\r\n\r\n## Result\r\nreal\r\n\r\n## Next\r\nb\r\n", "real"),
    "6 lone CR": ("a\r\r## Result\rreal\r\r## Next\rb\r", "real"),
    "7 three spaces": ("   ## Result\nreal\n", "real"),
    "7 four spaces": ("    ## Result\nreal\n", None),
    "7 no space": ("##Result\nreal\n", None),
    "7 tab": ("##\tResult\nreal\n", "real"),
    "7 backslash": ("\\## Result\nreal\n", None),
    "8 HTML comment": ("<!--\n## Result\nfake\n-->\n", None),
    "8 HTML comment, then real": ("<!--\n## Result\nfake\n-->\n\n## Result\nreal\n", "real"),
    "8 quote": ("> ## Result\n> fake\n", None),
    "8 quote, then real": ("> ## Result\n> fake\n\n## Result\nreal\n", "real"),
    "8 list item": ("- ## Result\n  fake\n", None),
    "8 behind a list item": ("- a\n\n  ## Result\n  fake\n", None),
    "8 numbered item, then real": ("1. ## Result\n\n   fake\n\n## Result\nreal\n", "real"),
    "9 two sections": ("## Result\nfirst\n\n## Result\nsecond\n", "first"),
    "10 unclosed fence": (f"{FENCE}py\ncode\n\n## Result\nreal\n", None),
    "10 unclosed tilde fence": ("~~~\n\n## Result\nreal\n", None),
}

A8 = {
    "no heading": ("just text\n", None),
    "empty": ("", None),
    "heading only": ("## Result\n", None),
    "heading only, no line end": ("## Result", None),
    "blank body": ("## Result\n\n   \n\t\n", None),
    "trailing colon": ("## Result:\nreal\n", "real"),
    "colon behind a space": ("## Result :\nreal\n", "real"),
    "two colons": ("## Result::\nreal\n", None),
    "lower case": ("## result\nreal\n", "real"),
    "upper case": ("## RESULT\nreal\n", "real"),
    "more words": ("## Result of it\nreal\n", None),
    "plural": ("## Results\nreal\n", None),
    "level 1": ("# Result\nreal\n", None),
    "level 3": ("### Result\nreal\n", None),
    "two-line heading": ("##\nResult\nreal\n", None),
    "H3 stays inside": ("## Result\na\n### Part\nb\n", "a\n### Part\nb"),
    "H1 ends": ("## Result\na\n# Next\nb\n", "a"),
    "H2 ends": ("## Result\na\n## Next\nb\n", "a"),
    "empty H2 ends": ("## Result\na\n##\nb\n", "a"),
    "#tag does not end": ("## Result\na\n#tag\nb\n", "a\n#tag\nb"),
    "#5 does not end": ("## Result\nsee\n#5 is done\n", "see\n#5 is done"),
    "seven hashes do not end": ("## Result\na\n####### b\n", "a\n####### b"),
    "fenced comment does not end": (
        f"## Result\n{FENCE}sh\n# comment\necho\n{FENCE}\ntail\n",
        f"{FENCE}sh\n# comment\necho\n{FENCE}\ntail",
    ),
    "unclosed fence in the body": (f"## Result\n{FENCE}\n# comment\n## x\n", f"{FENCE}\n# comment\n## x"),
    "heading in a quote does not end": ("## Result\na\n\n> # b\n\nc\n", "a\n\n> # b\n\nc"),
    "heading in a list does not end": ("## Result\n- # b\n\n  ## c\n", "- # b\n\n  ## c"),
    "empty, then filled": ("## Result\n\n## Other\nx\n\n## Result\nreal\n", "real"),
    "empty, right before a filled one": ("## Result\n## Result\nreal\n", "real"),
    "all empty": ("text\n\n## Result\n\n## Result\n", None),
    "indented heading in a fence of three": (f"   {FENCE}\n## Result\nfake\n   {FENCE}\n## Result\nreal\n", "real"),
    # C.5 speaks of level-2 headings, A8 says that setext ones are ignored: a rule of dashes right under a paragraph
    # is a slip that models make, and would cut the deliverable off.
    "setext is no start": ("Result\n------\nreal\n", None),
    "setext is no end": ("## Result\na\n---\nb\n\nTitle\n=====\nc\n", "a\n---\nb\n\nTitle\n=====\nc"),
    "emphasis": ("## **Result**\nreal\n", "real"),
    "emphasis with colon": ("## **Result:**\nreal\n", "real"),
    "code span": ("## `Result`\nreal\n", "real"),
    "no space but a no-break one": ("##\u00a0Result\nreal\n", None),
    "HTML block of a tag": ("<div>\n## Result\nfake\n\n</div>\n", None),
    "script": ("<script>\n\n## Result\nfake\n</script>\n## Result\nreal\n", "real"),
    "body on the same line as a comment": ("## Result\n<!-- note -->\n", "<!-- note -->"),
    "NUL before": ("\0\n## Result\nreal\n", "real"),
    "form feed is no line end": ("a\x0c## Result\nb\n", None),
    "line separator is no line end": ("a\u2028## Result\nb\n", None),
}

KEPT = {
    "fences, blanks and trailing words": (
        f"## Result\n\n{FENCE}py\nx = 1\n\n\ny = 2\n{FENCE}\n\nAfter.\n",
        f"{FENCE}py\nx = 1\n\n\ny = 2\n{FENCE}\n\nAfter.",
    ),
    "line ends as they were": ("## Result\r\na\r\n\r\nb\r\n", "a\r\n\r\nb"),
    "mixed line ends": ("x\r\n## Result\na\rb\r\n## c", "a\rb"),
    "code by indentation": ("## Result\n\n    code\n    more\n", "    code\n    more"),
    "code by tab": ("## Result\n\tcode\n", "\tcode"),
    "no code": ("## Result\n  real\n", "real"),
    "spaces inside": ("## Result\na  \n  b\t\nc  \n", "a  \n  b\t\nc"),
}


def _named(*tables: Mapping[str, tuple[str, str | None]]) -> list[object]:
    return [pytest.param(text, wanted, id=name) for table in tables for name, (text, wanted) in table.items()]


@pytest.mark.parametrize(("text", "wanted"), _named(PUB10))
def test_pub10_the_result_is_found_by_block_structure(text: str, wanted: str | None) -> None:
    assert result_section(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), _named(A8, KEPT))
def test_a8_what_begins_a_section_and_what_ends_it(text: str, wanted: str | None) -> None:
    assert result_section(text) == wanted


def test_a9_27_a_long_result_is_not_cut() -> None:
    body = "\U0001f9f5" * 20_001
    assert result_section(f"## Result\n{body}\n") == body


def _plainly(text: str) -> str | None:
    """The same by a whole parse of the whole text, without any of the short cuts."""
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    tokens = MarkdownIt("commonmark").parse(source)
    starts = [0, *(found.end() for found in re.finditer(r"\r\n?|\n", text))]
    headings = [
        (token.tag, "".join(one.content for one in tokens[place + 1].children or ()), token.map or [0, 0])
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.markup in ("#", "##")
    ]
    for place, (tag, words, span) in enumerate(headings):
        if tag != "h2" or words.strip().removesuffix(":").strip().casefold() != "result":
            continue
        end = starts[headings[place + 1][2][0]] if place + 1 < len(headings) else len(text)
        begin = starts[span[1]] if span[1] < len(starts) else len(text)
        if text[begin:end].strip():
            return text[begin:end].strip()
    return None


_PIECES = st.sampled_from(
    [
        *("## Result", "## result:", "# A", "### B", "##", "a", "    code", "\tcode", "- ", "1. ", "2) x", "> ", ">"),
        *("```", "~~~", "````py", "---", "===", "<!--", "-->", "<div>", "<a>", "</script>", "<script>", "[a]: b"),
        *(
            "[a]:",
            "'t",
            "\n",
            "\n",
            "\n\n",
            "\r\n",
            "\r",
            " ",
            "  ",
            "   ",
            "\0",
            "\u2028",
            "\x0c",
            "\\",
            "**",
            "`",
            "#",
        ),
        *("&#35;", "é"),
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join))
@example("> ```\n<foo>\n## Result\nx")
@example("[a]: b\n<foo>\n## Result\nx")
def test_it_agrees_with_a_whole_parse(text: str) -> None:
    mine, plain = result_section(text), _plainly(text)
    assert (mine if mine is None else mine.strip()) == plain


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300) | st.lists(_PIECES, max_size=60).map("".join))
def test_it_never_raises_and_only_quotes(text: str) -> None:
    section = result_section(text)
    assert section is None or (section in text and section.strip())


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.lists(_PIECES, max_size=20).map("".join))
def test_a_result_is_empty_for_a_blank_text_alone(text: str) -> None:
    report = Report(1, True, False, text, result_section(text), datetime(2026, 1, 1, tzinfo=UTC))
    assert bool(report.result.strip()) == bool(text.strip())
    assert report.result in text


_SIZE = 3 * 1024 * 1024


@pytest.mark.parametrize(
    "piece",
    [
        *("a\n", "\n", "a\n\n", "## Result\n", "## a\nb\n\n", "- a\n", "> a\n", ">>>>>>>>>a\n", "[a\n", "[a]: b\n"),
        *("```\na\n```\n", "```a\n", "* ", "\t", "1. a\n\n", "\\\n", "a\n===\n", "a\r", "#", "## ", "*a**b"),
        *("<!-- a\n", "<div>\n\n", "## **Result**\n"),
    ],
)
def test_three_mebibytes_made_to_be_slow_take_no_seconds(piece: str) -> None:
    text = "## Result\n\n" + "> " * 19 + piece * (_SIZE // len(piece)) + "\n# end\n"
    begin = time.process_time()
    section = result_section(text)
    assert time.process_time() - begin < 5
    assert section is None or section in text


def test_three_mebibytes_of_prose_and_of_code_have_their_section() -> None:
    prose = ("words and words " * 5 + "\n") * 7 + "\n"
    code = f"{FENCE}py\n" + "# a comment\n" * 200 + f"{FENCE}\n"
    for body in (prose * (_SIZE // len(prose)), code * (_SIZE // len(code))):
        assert result_section(f"intro\n\n## Result\n{body}## Next\nx\n") == body.strip()


def test_many_empty_sections_take_no_seconds() -> None:
    begin = time.process_time()
    assert result_section("## Result\n" * 40_000 + "\nreal") is None
    assert result_section("## Result\n" * 500 + "\nreal") == "real"
    assert time.process_time() - begin < 5


def test_more_lines_than_are_looked_at_are_taken_whole() -> None:
    assert result_section("a\n" * LINES_MOST + "\n## Result\nreal\n") is None
