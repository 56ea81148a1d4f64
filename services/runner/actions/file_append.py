"""`file_append`: appends text to a file under the files folder (design/threads.md §0.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from services.runner.actions.append_lines import MOST_TEXT, append_lines
from services.runner.actions.files_folder import FilesFolder
from services.runner.domain.task import ExecutionTask

NAME: Final = "file_append"
PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1024,
            "description": "Relative path under the files folder. Absolute paths, `..` and links are refused.",
        },
        "text": {
            "type": "string",
            "minLength": 1,
            "maxLength": MOST_TEXT,
            "description": "What to append, at most 64 KiB; a line feed is added if it ends without one.",
        },
    },
    "required": ["path", "text"],
    "additionalProperties": False,
}


class FileAppend:
    """Appends to `path`; makes the file and its folders if they are missing."""

    name = NAME
    parameters = PARAMETERS

    def __init__(self, folder: FilesFolder) -> None:
        self._folder = folder

    async def execute(self, task: ExecutionTask) -> Mapping[str, Any]:
        """Answers `{path, offset, bytes}`."""
        return await append_lines(self._folder, task.parameters["path"], task.parameters["text"])
