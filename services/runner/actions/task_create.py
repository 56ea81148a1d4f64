"""`task_create`: adds an open task, `- [ ] …`, to `tasks.md` in the files folder (design/threads.md §0.10, §5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from services.runner.actions.append_lines import append_lines
from services.runner.actions.files_folder import FilesFolder
from services.runner.domain.task import ExecutionTask, Json

NAME: Final = "task_create"
TASKS_FILE: Final = "tasks.md"
_TEXT: Final = {"type": "string", "maxLength": 2000}
PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "task_text": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The task, one line."},
        "summary": {**_TEXT, "description": "When it is done, or why; written below the task."},
        "project": {"type": "string", "maxLength": 200, "description": "The project that it belongs to."},
        "urgency": {"enum": ["low", "medium", "high"], "description": "How urgent it is."},
        "deadline_date": {"type": "string", "maxLength": 40, "description": "When it is due, as YYYY-MM-DD."},
    },
    "required": ["task_text"],
    "additionalProperties": False,
}


class TaskCreate:
    """Adds one task."""

    name = NAME
    parameters = PARAMETERS

    def __init__(self, folder: FilesFolder) -> None:
        self._folder = folder

    async def execute(self, task: ExecutionTask) -> Mapping[str, Any]:
        """Answers `{path, offset, bytes}`."""
        return await append_lines(self._folder, TASKS_FILE, as_markdown(task.parameters))


def as_markdown(parameters: Json) -> str:
    """`- [ ] text (project, high, due 2031-05-04)` and the summary indented below. A text of several lines stays one
    list item: a line of it can never look like a task of its own."""
    extras = [
        one_line(parameters.get("project", "")),
        one_line(parameters.get("urgency", "")),
        f"due {one_line(parameters['deadline_date'])}" if parameters.get("deadline_date") else "",
    ]
    noted = ", ".join(extra for extra in extras if extra)
    lines = [f"- [ ] {one_line(parameters['task_text'])}" + (f" ({noted})" if noted else "")]
    if summary := one_line(parameters.get("summary", "")):
        lines.append(f"  {summary}")
    return "\n".join(lines) + "\n"


def one_line(text: str) -> str:
    """The text with every run of white space, line ends included, as one space."""
    return " ".join(text.split())
