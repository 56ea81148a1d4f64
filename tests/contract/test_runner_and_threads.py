"""Where the runner and the threads service meet: the same schemas of the same actions, the same JSON of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from services.runner.actions import file_append, http_request, shell, task_create
from services.runner.adapters.payload import JsonCodec
from services.runner.application.ports import Kind, LeasedJob
from services.runner.providers.scripted import Scripted
from services.threads.application.tasks import inference_result
from services.threads.domain.built_in import BUILT_IN
from services.threads.domain.states import Target

ACTIONS = (file_append, task_create, http_request, shell)


def without_descriptions(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            k: without_descriptions(v) for k, v in schema.items() if not (k == "description" and isinstance(v, str))
        }
    return [without_descriptions(entry) for entry in schema] if isinstance(schema, list | tuple) else schema


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: str(action.NAME))
def test_what_is_proposed_is_checked_by_the_schema_that_is_executed_by(action: Any) -> None:
    assert without_descriptions(BUILT_IN[action.NAME].schema) == without_descriptions(action.PARAMETERS)


def test_every_action_of_the_catalogue_that_needs_a_runner_has_one() -> None:
    needed = {name for name, registration in BUILT_IN.items() if not registration.universal and name != "decompose"}

    assert needed == {action.NAME for action in ACTIONS}


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize(
    "title", ["Append x to notes.md", "Check http://localhost/", "Call", "[[clarify: Which?]]", "[[empty]]"]
)
async def test_threads_reads_what_the_runner_writes(target: Target, title: str, tmp_path: Path) -> None:
    payload = {"target": target, "thread": {"id": "thr_1", "title": title, "description": ""}}
    job = LeasedJob("job_1", Kind.INFERENCE, "default", "threads/thr_1", orjson.dumps(payload), 1, 1)
    codec = JsonCodec()

    written = codec.guess(await Scripted().infer(codec.inference_task(job)))
    read = inference_result(target, orjson.loads(written))

    assert read.model_used == "scripted"
    if target is Target.ACTION and "[[" not in title:
        assert read.draft is not None
        assert read.draft.kind == "standard"
        assert read.draft.name in BUILT_IN
    if title == "[[empty]]":
        assert read.payload == {}
