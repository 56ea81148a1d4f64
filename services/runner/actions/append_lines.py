"""Appends whole lines to a file of the folder, off the event loop, waiting a little for a busy file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from services.runner.actions.files_folder import Appended, FilesFolder
from services.runner.domain.failure import Code, Failed

MOST_TEXT = 65_536
"""Characters and bytes of one text: a proposal's parameters are at most 64 KiB (action_service limits)."""
_BUSY_TRIES = 50
_BUSY_PAUSE_SECONDS = 0.1


async def append_lines(folder: FilesFolder, path: str, text: str) -> Mapping[str, Any]:
    """Writes `text`, with a line feed at its end if it has none. The write itself is not interrupted by a cancel:
    it is all there or not at all, and the caller learns which."""
    try:
        data = (text if text.endswith("\n") else text + "\n").encode("utf-8")
    except UnicodeEncodeError as fault:
        raise Failed(Code.INVALID_PARAMETERS, "text holds a lone surrogate") from fault
    if len(data) > MOST_TEXT + 1:
        raise Failed(Code.TOO_LARGE, f"{len(data)} bytes; at most {MOST_TEXT}")
    done = await _patiently(folder, path, data)
    return {"path": done.path, "offset": done.offset, "bytes": done.size}


async def _patiently(folder: FilesFolder, path: str, data: bytes) -> Appended:
    """At most 5 s for a file whose lock somebody else holds."""
    for _ in range(_BUSY_TRIES):
        try:
            return await _uninterrupted(folder, path, data)
        except Failed as failure:
            if failure.code is not Code.FILE_BUSY:
                raise
        await asyncio.sleep(_BUSY_PAUSE_SECONDS)
    raise Failed(Code.FILE_BUSY, f"{path}: locked by somebody else")


async def _uninterrupted(folder: FilesFolder, path: str, data: bytes) -> Appended:
    """A cancel waits for the write: answering `cancelled` for bytes that are there would be a lie."""
    write = asyncio.ensure_future(asyncio.to_thread(folder.append, path, data))
    try:
        return await asyncio.shield(write)
    except asyncio.CancelledError:
        if not write.cancelled():
            return await write
        raise
