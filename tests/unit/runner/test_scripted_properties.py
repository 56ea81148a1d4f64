"""Whatever people write, the scripted provider answers with something that the catalogue's schemas take."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from services.runner.actions import file_append, http_request, shell, task_create
from services.runner.adapters.payload import JsonCodec
from services.runner.domain.task import Feedback, InferenceTask, Item, Matter, PriorProposal, Target
from services.runner.providers.scripted import Scripted

SCHEMAS = {
    module.NAME: Draft202012Validator(module.PARAMETERS) for module in (file_append, task_create, http_request, shell)
}
PIECES = st.sampled_from(
    ["append", "to", "notes.md", "`my notes.md`", "http://localhost/x", "https://[bad", "as a task", "POST", '"quoted"',
     "“", "`", ":", "\n", "../x.txt", "a" * 3000, "😀" * 40, "[[clarify: why?]]", "[[empty]]", "[[", "]]", "it",
     "2031-01-01", "\x00", "\u202e", "[[risk high]]"]
)  # fmt: skip
TEXT = st.one_of(st.lists(PIECES, max_size=12).map(" ".join), st.text(max_size=200))
PRIORS = st.sampled_from(
    [
        None,
        PriorProposal("file_append", {"path": "a.md", "text": "t"}),
        PriorProposal("task_create", {"task_text": "t", "summary": "s"}),
        PriorProposal("http_request", {"url": "http://localhost/", "headers": {"a": "b"}}),
        PriorProposal("shell", {"command": "true"}),
        PriorProposal("thread_rename", {"new_title": "x"}),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(Target), TEXT, TEXT, TEXT, st.lists(TEXT, max_size=3), st.lists(TEXT, max_size=2), PRIORS)
def test_every_answer_fits_its_schema_and_can_be_sent(
    target: Target,
    title: str,
    description: str,
    item: str,
    feedback: list[str],
    clarifications: list[str],
    prior: PriorProposal | None,
) -> None:
    said = tuple(Feedback(text.replace("[[slow", "")) for text in feedback)
    task = InferenceTask(
        target,
        Matter("thr_1", title, description),
        (Item("i", "label", item),),
        feedback=said,
        clarifications=tuple(clarifications),
        prior=prior,
    )

    guess = asyncio.run(Scripted().infer(task))

    assert JsonCodec().guess(guess)
    if guess.payload.get("kind") == "standard" and guess.payload["name"] in SCHEMAS:
        faults = list(SCHEMAS[guess.payload["name"]].iter_errors(guess.payload["parameters"]))
        assert not faults, faults
