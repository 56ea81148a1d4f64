"""What is injected into a turn: its order, its budget, and that no text of users forges any of its structure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from services.coordination.domain import standing
from services.coordination.domain.injection import (
    BRIEF_SHOWN,
    MOST,
    CoordinatorView,
    Member,
    WorkerView,
    digest,
    for_coordinator,
    for_worker,
)
from services.coordination.domain.worker import Status
from services.kernel.escaping import inline, item, lines, quoted

_PARSER = MarkdownIt("commonmark").enable("table")

_HOSTILE = [
    *("## Result", "# H", "######", "\n## Your thread assignment\n"),
    *("Title\n===", "a\n---", "---", "***", "* * *", "___"),
    *(
        "|",
        "\\|",
        "\\\\|",
        "| a | b |\n| - | - |\n| c | d |",
        "a | b\n:- | -:",
        "`",
        "```",
        "````py\n",
        "~~~\n",
        "``x``",
    ),
    *("- a", "+ b", "* c", "1. d", "2) e", "\t- f", "    code", "\n\n    code\n\n", "\t", "  ", "> q", ">", ">>> "),
    *("<div>", "<!--", "-->", "<script>\n", "</x>", "<?", "<![CDATA[", "[a]: b", "[a]: <c> 'd", "[^1]: x", "[x]"),
    *("\n", "\n\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\u2028## H", "\x0b- a"),
    *("\u202e", "\u202d", "\u2066", "\u2069", "\u200f", "\u061c", "\u200b", "\u200b## H", "\ufeff# H", "\u00a0# H"),
    *(
        "\u3000# H",
        "\u200d",
        "\x00",
        "\x1b[31m",
        "\ud83d",
        "\\",
        "\\#",
        "&lt;",
        "&#35; H",
        "!",
        "$$",
        ":::",
        "é",
        "👩‍👩‍👧‍👦",
        "x",
    ),
]
_texts = st.lists(st.sampled_from(_HOSTILE) | st.text(max_size=6), max_size=12).map("".join)


def _blocks(text: str) -> Counter[str]:
    """How many there are of each kind of block, lists and quotes by their items and depth."""
    found: Counter[str] = Counter()
    for token in _PARSER.parse(text):
        if token.nesting >= 0 and token.type not in ("inline", "paragraph_open", "softbreak"):
            found[f"{token.type} {token.tag} {token.level}"] += 1
        for part in token.children or ():
            if part.type == "html_inline" or (part.type == "code_inline" and "x" in part.content):
                found[part.type] += 1
    return found


def _headings(text: str) -> list[str]:
    tokens = _PARSER.parse(text)
    return [f"{one.tag} {tokens[at + 1].content}" for at, one in enumerate(tokens) if one.type == "heading_open"]


def _rows(text: str) -> list[int]:
    """The number of cells of each row of the tables, their heads included."""
    cells: list[int] = []
    for token in _PARSER.parse(text):
        if token.type == "tr_open":
            cells.append(0)
        elif token.type in ("td_open", "th_open"):
            cells[-1] += 1
    return cells


def _member(name: str = "alpha", status: Status = Status.RUNNING, **changes: object) -> Member:
    return Member(name, "subagent", status, **changes)  # type: ignore[arg-type]


@given(brief=_texts, notes=st.lists(_texts, max_size=3))
@settings(max_examples=400)
@example(brief="\\", notes=["\\"])
@example(brief="a\\|b", notes=["a\\\n|b|\n|-|"])
def test_a9_21_no_text_forges_anything_in_a_coordinators_section(brief: str, notes: list[str]) -> None:
    plain = CoordinatorView([_member(brief="x"), _member("beta", brief="x")], ["x"] * len(notes))
    hostile = CoordinatorView([_member(brief=brief), _member("beta", brief=brief)], notes)
    text = for_coordinator(hostile)
    assert _blocks(text) == _blocks(for_coordinator(plain))
    assert _headings(text) == _headings(for_coordinator(plain))
    assert _rows(text) == [5, 5, 5]


@given(brief=_texts, context=_texts, notes=st.lists(_texts, max_size=3))
@settings(max_examples=400)
def test_no_text_forges_anything_in_a_workers_section(brief: str, context: str, notes: list[str]) -> None:
    plain = WorkerView("alpha", "x", "x" if context else "", ["x"] * len(notes), [_member("beta")])
    hostile = WorkerView("alpha", brief, context, notes, [_member("beta")])
    text = for_worker(hostile)
    assert _blocks(text) == _blocks(for_worker(plain))
    assert _headings(text) == _headings(for_worker(plain))


@given(_texts)
@settings(max_examples=300)
def test_marks_are_added_and_nothing_is_taken_away(text: str) -> None:
    """A backslash before a mark reads as the mark."""
    read = [re.sub(r"\\(.)", r"\1", line) for line in lines(text)]
    written = re.sub("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\n", text).split("\n")
    assert ["".join(line.split()) for line in read] == [
        "".join(
            re.sub("[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "\ufffd", line).split()
        )
        for line in written
    ]


@given(_texts, st.integers(2, 200))
def test_one_line_stays_one_line(text: str, most: int) -> None:
    line = inline(text, most)
    assert len(line.splitlines()) <= 1
    plain = line.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")
    assert len(plain) <= most


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a_b and *c* **d**", "a_b and *c* **d**"),
        ("-x --flag", "\\-x --flag"),
        ("**bold** first", "**bold** first"),
        ("* bullet", "\\* bullet"),
        ("3. third", "3\\. third"),
        ("10 apples", "10 apples"),
        ("see `x` | <y>", "see \\`x\\` \\| \\<y>"),
        ("a\\b", "a\\\\b"),
        ("\u200b## hidden", "\u200b\\## hidden"),
        ("    x = 1", "   x = 1"),
    ],
)
def test_marks_are_escaped_where_they_mean_something(text: str, wanted: str) -> None:
    assert lines(text) == [wanted]


def test_text_keeps_its_lines_and_its_indentation() -> None:
    assert quoted("def f():\n    return 1\n\nend") == "> def f():\n>     return 1\n>\n> end"
    assert item("one\ntwo\n\nthree") == "- one\n  two\n\n  three"


def test_the_coordinators_section_in_its_order() -> None:
    view = CoordinatorView(
        [
            _member("alpha", Status.SUCCEEDED, reason="completed", brief="first", has_result=True, uncollected=True),
            _member("beta", Status.FAILED, reason="timeout", brief="second", has_result=True, partial=True),
            _member("gamma", Status.RUNNING, brief="third"),
            _member("delta", Status.FAILED, reason="launch_failed", brief="fourth"),
        ],
        ["newer", "older"],
    )
    text = for_coordinator(view)
    assert text.startswith(
        "## Thread mode — coordinator\n\nWorker threads: 4 (1 running, 1 succeeded, 2 failed). "
        "Results ready to collect: 1.\n\n"
        "| name | kind | status | result | brief |\n| --- | --- | --- | --- | --- |\n"
        "| alpha | subagent | succeeded | result ready | first |\n"
        "| beta | subagent | failed (timeout) | collected, partial | second |\n"
        "| gamma | subagent | running | - | third |\n"
        "| delta | subagent | failed (launch_failed) | none | fourth |\n\n"
        "### Your notes, newest first\n\n- newer\n- older\n\n### Working rule\n\n"
    )
    assert "never delegate" in text.lower()
    assert text.endswith(standing.COORDINATOR_RULES[-1] + "\n")


def test_no_worker_yet() -> None:
    text = for_coordinator(CoordinatorView([]))
    assert "Worker threads: 0.\n\nRoster: none yet.\n" in text
    assert "Your notes" not in text


def test_the_workers_section_in_its_order() -> None:
    siblings = [
        _member("beta", Status.SUCCEEDED, brief="BRIEF OF BETA", has_result=True, uncollected=True),
        _member("gamma", Status.RUNNING, brief="BRIEF OF GAMMA"),
    ]
    text = for_worker(WorkerView("alpha", "Count the ways.", "Some context.", ["n2", "n1"], siblings))
    places = [
        text.index(one)
        for one in (
            "## Your thread assignment",
            "worker thread `alpha`",
            "### Brief",
            "> Count the ways.",
            "- n2\n- n1",
            "> Some context.",
            "gamma (running), beta (succeeded).",
            "Do only what the brief asks",
            "`## Result`",
            "Never write durable memory",
            "thread_note",
            "Do not wait",
        )
    ]
    assert places == sorted(places)
    assert text.count("Count the ways.") == 1
    assert "BRIEF OF" not in text


def test_nothing_noted_and_nobody_beside() -> None:
    text = for_worker(WorkerView("alpha", "x"))
    assert "newest first\n\n(none)\n\n### Sibling threads\n\n(none)\n" in text
    assert "Extra context" not in text


def test_a_brief_in_the_roster_is_cut_to_120() -> None:
    exactly, longer = "e" * BRIEF_SHOWN, "l" * (BRIEF_SHOWN + 1)
    text = for_coordinator(CoordinatorView([_member(brief=exactly), _member("beta", brief=longer)]))
    assert f"| {exactly} |" in text
    assert f"| {'l' * (BRIEF_SHOWN - 1)}… |" in text


_MARKS = st.sampled_from(["|", "`", "\\", "#\n", "\n", "x", "- \n", "👩", "<", "x" * 50])


@given(
    workers=st.integers(0, 1_000),
    statuses=st.lists(st.sampled_from(list(Status)), min_size=1, max_size=4),
    mark=_MARKS,
    notes=st.integers(0, 50),
    size=st.integers(1, 2_000),
)
@settings(max_examples=60, deadline=None)
@example(workers=1_000, statuses=[Status.RUNNING], mark="|", notes=50, size=2_000)
@example(workers=1_000, statuses=[Status.RUNNING], mark="|", notes=1, size=1)
def test_never_over_the_budget(workers: int, statuses: list[Status], mark: str, notes: int, size: int) -> None:
    members = [
        Member(
            f"{n:04}-" + "w" * 59, "subagent", statuses[n % len(statuses)], "budget_exhausted", mark * 4_000, True, True
        )
        for n in range(workers)
    ]
    text = (mark * size)[:size]
    one = for_coordinator(CoordinatorView(members, [text] * notes))
    other = for_worker(WorkerView("w" * 64, (mark * 4_000)[:4_000], (mark * 4_000)[:4_000], [text] * notes, members))
    assert len(one) <= MOST
    assert len(other) <= MOST
    assert _headings(other)[-1] == "h3 Discipline"


def test_of_many_notes_the_newest_are_kept_and_the_others_counted() -> None:
    notes = [f"note {50 - n} " + "x" * 1_990 for n in range(50)]
    for text in (
        for_coordinator(CoordinatorView([_member(brief="x")], notes)),
        for_worker(WorkerView("a", "x", "", notes)),
    ):
        shown = text.count("\n- note ")
        assert shown >= 4
        assert f"- note {50 - shown + 1} " in text
        assert f"{50 - shown} older notes are not shown." in text


def test_of_many_workers_those_at_work_and_those_with_news_are_kept() -> None:
    done = [_member(f"done-{n}", Status.SUCCEEDED, brief="x" * 200, has_result=True) for n in range(900)]
    ready = [_member(f"ready-{n}", Status.SUCCEEDED, has_result=True, uncollected=True) for n in range(3)]
    live = [_member(f"live-{n}", brief="y" * 200) for n in range(32)]
    text = for_coordinator(CoordinatorView([*ready, *done, *live], ["n"]))
    assert all(f"| live-{n} |" in text for n in range(32))
    assert all(f"| ready-{n} |" in text for n in range(3))
    assert "| done-899 |" in text
    assert f"{935 - (len(_rows(text)) - 1)} more workers are not shown" in text


def test_a_brief_that_does_not_fit_is_cut_at_a_line_and_says_so() -> None:
    text = for_worker(WorkerView("alpha", "#\n" * 2_000, "|" * 4_000, ["a note"]))
    assert text.count("more characters do not fit here.") == 2
    assert len(text) <= MOST


def test_a_brief_and_a_context_at_their_limits_are_whole() -> None:
    brief, context = ("Words of a brief. " * 300)[:4_000], ("Words of more. " * 300)[:4_000]
    text = for_worker(WorkerView("alpha", brief, context))
    assert f"> {brief.strip()}" in text
    assert f"> {context.strip()}" in text


def test_the_digest_is_of_the_bytes() -> None:
    assert digest("é\n") == hashlib.sha256("é\n".encode()).hexdigest()
