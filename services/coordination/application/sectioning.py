"""Finds the `## Result` of a text without holding up everybody else: long texts are read in a thread, one at a time.

Do it before the transaction: rows are not to be locked while megabytes are read.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from services.coordination.domain.result_section import result_section

_INLINE_MOST: Final = 4 * 1024
"""Code points that are read at once: at most about twenty milliseconds."""
_READERS: Final = ThreadPoolExecutor(1, "result-section")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in a text: the body of its `## Result`, or None."""

    section: str | None


async def read(text: str) -> Reading:
    """What is in the text."""
    if len(text) <= _INLINE_MOST:
        return Reading(result_section(text))
    return Reading(await asyncio.get_running_loop().run_in_executor(_READERS, result_section, text))
