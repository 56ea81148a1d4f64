"""`file_line`: removes the line of a note that a thread came from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from services.runner.actions.files_folder import FilesFolder
from services.runner.cleanup.lines import remove, without_first
from services.runner.domain.failure import Code, Failed

NAME: Final = "file_line"


class FileLine:
    """Parameters: `path` below the files folder, `line_text`. A line that is gone is a success, a file that cannot be
    read is not.
    """

    name = NAME

    def __init__(self, folder: FilesFolder) -> None:
        self._folder = folder

    async def clean(self, parameters: Mapping[str, Any]) -> bool:
        """Removes the first line whose trimmed text is the given one."""
        path, line = required(parameters, "path"), required(parameters, "line_text")
        return await remove(self._folder, path, partial(without_first, line=line))


def required(parameters: Mapping[str, Any], name: str) -> str:
    """A text that is not blank."""
    value = parameters.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Failed(Code.INVALID_PARAMETERS, f"{name} is not a text")
    return value
