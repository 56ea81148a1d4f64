"""Removing one line of a file in the files folder; every other byte stays as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from services.runner.actions.files_folder import FilesFolder
from services.runner.domain.failure import Code, Failed

_BUSY_TRIES: Final = 50
_BUSY_PAUSE_SECONDS: Final = 0.1


def without_first(content: bytes, line: str, *, with_indented: bool = False) -> bytes | None:
    """The content without the first line that is `line` when both are trimmed; None when there is none.

    `with_indented`: the indented lines right below belong to it.
    """
    wanted = line.strip()
    lines = [part + b"\n" for part in content.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    for start, found in enumerate(lines):
        if found.decode("utf-8", "replace").strip() == wanted:
            end = start + 1
            while with_indented and end < len(lines) and lines[end][:1] in (b" ", b"\t") and lines[end].strip():
                end += 1
            return b"".join(lines[:start] + lines[end:])
    return None


async def remove(folder: FilesFolder, path: str, change: Callable[[bytes], bytes | None]) -> bool:
    """Waits at most 5 s for a file whose lock somebody else holds. A cancel waits for the write to end."""
    for _ in range(_BUSY_TRIES):
        writing = asyncio.ensure_future(asyncio.to_thread(folder.rewrite, path, change))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            if not writing.cancelled():
                return await writing
            raise
        except Failed as failure:
            if failure.code is not Code.FILE_BUSY:
                raise
        await asyncio.sleep(_BUSY_PAUSE_SECONDS)
    raise Failed(Code.FILE_BUSY, f"{path}: locked by somebody else")
