"""Tasks for the runner's unit tests, with what a test does not care about filled in."""

from __future__ import annotations

from typing import Any

from services.runner.domain.task import ExecutionTask, InferenceTask, Matter, Target


def matter(title: str = "A matter", description: str = "") -> Matter:
    return Matter("thr_1", title, description)


def infer(target: Target = Target.ACTION, title: str = "A matter", description: str = "", **more: Any) -> InferenceTask:
    return InferenceTask(target, matter(title, description), **more)


def execute(name: str, parameters: dict[str, Any]) -> ExecutionTask:
    return ExecutionTask(matter(), "prp_1", name, parameters, "key-1")
