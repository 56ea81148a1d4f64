"""The words that a search finds in a thread, and those that it looks for. No language, no wildcards, no operators."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from services.threads.domain.canonical import Json
from services.threads.domain.reading import text
from services.threads.domain.thread import Thread

TEXT_MOST: Final = 100_000
"""Code points of a thread that are looked through, from its title on."""
WORDS_MOST: Final = 5_000
"""Different words of a thread that are kept: with WORD_MOST it always fits Postgres's megabyte."""
WORD_MOST: Final = 48
"""Code points of a word; what is longer is cut, in texts and in searches alike."""
_WORD: Final = re.compile(r"[^\W_]+")


def words(said: str) -> list[str]:
    """Different words in order: letters and digits only, without case, in compatible form (NFKC)."""
    folded = unicodedata.normalize("NFKC", said[:TEXT_MOST]).casefold()
    found = dict.fromkeys(match[0][:WORD_MOST] for match in _WORD.finditer(folded))
    return list(found)[:WORDS_MOST]


def words_of(thread: Thread) -> list[str]:
    """Title, intent, description, then the items: labels and every string of their payloads."""
    said = [thread.title, text(thread.intent.payload, "intent") if thread.intent else "", thread.description]
    for item in thread.context_items:
        said += [item.label, *_strings(item.payload)]
    return words("\n".join(said))


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from _strings(entry)
    elif isinstance(value, Sequence):
        for entry in value:
            yield from _strings(entry)
