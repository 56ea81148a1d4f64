"""Payloads and results as JSON: what is read, what is refused, what is written."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from services.runner.actions.catalogue import Catalogue
from services.runner.actions.files_folder import FilesFolder
from services.runner.actions.task_create import TaskCreate
from services.runner.adapters.payload import JsonCodec
from services.runner.application.ports import Kind, LeasedJob
from services.runner.domain.failure import DETAIL_BYTES, Code, Failed, fit_detail
from services.runner.domain.task import Feedback, Guess, Target


def job(payload: Any, kind: Kind = Kind.INFERENCE) -> LeasedJob:
    body = payload if isinstance(payload, bytes) else orjson.dumps(payload)
    return LeasedJob("job_1", kind, "default", "threads/thr_1", body, 3, 2)


def test_reads_an_inference_task() -> None:
    task = JsonCodec().inference_task(
        job(
            {
                "target": "action",
                "thread": {"id": "thr_1", "title": "T", "description": None},
                "context_items": [{"id": "i", "payload": {"text": "a", "more": ["b", 3, {"c": "d"}]}}],
                "intent": None,
                "feedback": [{"text": "f", "params": {"a": 1}, "target_action": "x"}, {"text": "g"}],
                "clarifications": ["c"],
                "prior_proposal": {"name": "n", "parameters": {"p": 1}},
                "actions": [{"capability_name": "n", "description": "d", "parameters_schema": {}}],
                "a_later_version": True,
            }
        )
    )

    assert (task.target, task.intent, task.attempt) == (Target.ACTION, "", 2)
    assert (task.items[0].label, task.items[0].text) == ("i", "a\nb\nd")
    assert task.feedback == (Feedback("f", {"a": 1}, "x"), Feedback("g"))
    assert task.prior is not None
    assert task.prior.name == "n"


@pytest.mark.parametrize(
    "payload",
    [b"", b"[]", b"{", {"target": "x", "thread": {"id": "1"}}, {"target": "intent"}, {"target": "intent", "thread": 3}],
)
def test_a_payload_of_another_shape_is_a_named_failure(payload: Any) -> None:
    with pytest.raises(Failed) as failed:
        JsonCodec().inference_task(job(payload))

    assert failed.value.code is Code.INVALID_PAYLOAD


def test_pub22_text_of_a_provider_that_cannot_be_encoded_is_replaced() -> None:
    guess = Guess({"intent": "x\ud83dy", "list": [{"\ud83d": "\ude00"}]}, 0.5, "m", "t")

    assert orjson.loads(JsonCodec().guess(guess))["payload"] == {"intent": "x\ufffdy", "list": [{"\ufffd": "\ufffd"}]}


def test_the_detail_of_a_failure_fits_and_says_that_it_was_cut() -> None:
    cut = fit_detail("ü\ud83d" * 20_000)

    assert len(cut.encode()) <= DETAIL_BYTES
    assert cut.endswith("100000 bytes in all]")
    assert fit_detail("short") == "short"


@pytest.mark.parametrize(
    ("name", "parameters", "code"),
    [
        ("nonsense", {}, Code.UNKNOWN_ACTION),
        ("task_create", {}, Code.INVALID_PARAMETERS),
        ("task_create", {"task_text": 3}, Code.INVALID_PARAMETERS),
        ("task_create", {"task_text": "x", "more": 1}, Code.INVALID_PARAMETERS),
    ],
)
def test_an_action_is_found_only_with_parameters_that_fit(
    tmp_path: Any, name: str, parameters: Any, code: Code
) -> None:
    catalogue = Catalogue([TaskCreate(FilesFolder(tmp_path))])

    with pytest.raises(Failed) as failed:
        catalogue.find(name, parameters)

    assert failed.value.code is code
    assert catalogue.find("task_create", {"task_text": "x"}).name == "task_create"
