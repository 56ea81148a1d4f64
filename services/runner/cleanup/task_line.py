"""`task`: removes an open task from `tasks.md`, with what is written below it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from services.runner.actions.files_folder import FilesFolder
from services.runner.actions.task_create import TASKS_FILE
from services.runner.cleanup.file_line import required
from services.runner.cleanup.lines import remove, without_first

NAME: Final = "task"


class TaskLine:
    """Parameters: `line_text`, the task's line as it stands."""

    name = NAME

    def __init__(self, folder: FilesFolder) -> None:
        self._folder = folder

    async def clean(self, parameters: Mapping[str, Any]) -> bool:
        """Removes the first such task."""
        change = partial(without_first, line=required(parameters, "line_text"), with_indented=True)
        return await remove(self._folder, TASKS_FILE, change)
