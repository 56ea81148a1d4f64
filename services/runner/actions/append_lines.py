"""Appends whole lines to a file of the folder, off the event loop, waiting a little for a busy file."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from typing import Any

from services.runner.actions.files_folder import Appended, FilesFolder
from services.runner.domain.failure import Code, Failed

MOST_TEXT = 65_536
"""Characters and bytes of one text: a proposal's parameters are at most 64 KiB (action_service limits)."""
_BUSY_SECONDS = 15.0
"""How long a file that others hold is waited for: each holder writes and syncs at most one text."""
_PAUSE_SECONDS = (0.01, 0.1)


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
    """Pauses of uneven length, so that many who wait do not come back together."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return await _uninterrupted(folder, path, data)
        except Failed as failure:
            if failure.code is not Code.FILE_BUSY or time.monotonic() > until:
                raise
        await asyncio.sleep(random.uniform(*_PAUSE_SECONDS))


async def _uninterrupted(folder: FilesFolder, path: str, data: bytes) -> Appended:
    """A cancel waits for the write: answering `cancelled` for bytes that are there would be a lie."""
    write = asyncio.ensure_future(asyncio.to_thread(folder.append, path, data))
    try:
        return await asyncio.shield(write)
    except asyncio.CancelledError:
        if not write.cancelled():
            return await write
        raise
