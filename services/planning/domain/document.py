"""A document of a workspace, and who may write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from services.planning.domain import errors, limits
from services.planning.domain.snapshot import sha256
from services.planning.domain.workspace import AGENT, By


@dataclass(frozen=True, slots=True)
class Document:
    """`content` None: not read. `size` in bytes."""

    key: str
    position: int
    content: str | None
    size: int
    sha256: str
    locked: bool
    version: int
    updated_by: str
    updated_at: datetime


def written(there: Sequence[Document], key: str, content: str, by: By, now: datetime) -> Document:
    """The document with that content, a new one or the old one changed. `there`: all of the workspace."""
    old = next((one for one in there if one.key == key), None)
    if old is not None and old.locked and by == AGENT:
        raise errors.document_locked(key)
    data = content.encode()
    if old is None and len(there) >= limits.DOCUMENTS_MOST:
        raise errors.too_many_documents()
    if sum(one.size for one in there if one is not old) + len(data) > limits.DOCUMENTS_BYTES_MOST:
        raise errors.documents_too_large()
    if old is None:
        position = max((one.position for one in there), default=-1) + 1
        return Document(key, position, content, len(data), sha256(data), False, 1, by, now)
    return replace(
        old,
        content=content,
        size=len(data),
        sha256=sha256(data),
        version=old.version + 1,
        updated_by=by,
        updated_at=now,
    )


def with_lock(document: Document, locked: bool, by: By, now: datetime) -> Document:
    """Locked against agents, or not."""
    return replace(document, locked=locked, version=document.version + 1, updated_by=by, updated_at=now)


def deleted(there: Sequence[Document], key: str, by: By) -> Document:
    """The one that goes: what a person has locked, no agent deletes."""
    document = named(there, key)
    if document.locked and by == AGENT:
        raise errors.document_locked(key)
    return document


def check_etag(etag: str, document: Document | None) -> None:
    """The document is as the caller knows it; empty: whatever it is. `If-Match` comes without its quotes."""
    if etag and etag.strip('"') != (_mark(document) if document else "0"):
        raise errors.etag_mismatch(document.version if document else 0)


def etag_of(document: Document) -> str:
    """Its version alone would not tell a document from one that was deleted and made anew."""
    return f'"{_mark(document)}"'


def _mark(document: Document) -> str:
    return f"{document.version}-{document.sha256[:16]}"


def named(there: Sequence[Document], key: str) -> Document:
    """The one of that key."""
    for one in there:
        if one.key == key:
            return one
    raise errors.document_not_found(key)
