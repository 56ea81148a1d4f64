"""Documents: written by agent and people, locked by people alone."""

from __future__ import annotations

from dataclasses import replace

from services.kernel.clock import Clock
from services.planning.application.acting import Command
from services.planning.application.work import Work, Workshop
from services.planning.domain import limits
from services.planning.domain.document import Document, check_etag, deleted, named, with_lock, written
from services.planning.domain.facts import Told
from services.planning.domain.workspace import Workspace, check_changeable


class Documents:
    """The use cases."""

    def __init__(self, workshop: Workshop, clock: Clock) -> None:
        self._workshop = workshop
        self._clock = clock

    async def put(self, command: Command, key: str, content: str, etag: str) -> Document:
        """Writes it whole."""
        key, content = limits.document_key(key), limits.document_content(content)
        async with self._workshop.work() as work:
            said = await command.remembered(work, f"PutDocument {key}")
            workspace = await work.workspace(command.tenant, command.session_id)
            there = await work.documents(workspace)
            if said is not None:
                return replace(named(there, key), content=await work.content(workspace, key))
            check_changeable(workspace, command.by, command.turn_id)
            document = written(there, key, content, command.by, self._clock.now())
            check_etag(etag, next((one for one in there if one.key == key), None))
            await work.put_document(workspace, document)
            await self._changed(work, workspace, document, command)
            return document

    async def delete(self, command: Command, key: str, etag: str) -> None:
        """It goes from the workspace; what turns kept of it stays."""
        async with self._workshop.work() as work:
            said = await command.remembered(work, f"DeleteDocument {key}")
            workspace = await work.workspace(command.tenant, command.session_id)
            if said is not None:
                return
            check_changeable(workspace, command.by, command.turn_id)
            document = deleted(await work.documents(workspace), key, command.by)
            check_etag(etag, document)
            await work.delete_document(workspace, key)
            await self._changed(work, workspace, document, command)

    async def lock(self, command: Command, key: str, locked: bool) -> Document:
        """Locks it against agents, or unlocks it."""
        async with self._workshop.work() as work:
            said = await command.remembered(work, f"LockDocument {key}")
            workspace = await work.workspace(command.tenant, command.session_id)
            document = named(await work.documents(workspace), key)
            if said is None:
                check_changeable(workspace, command.by, command.turn_id)
                if document.locked is locked:
                    await work.store(b"")
                else:
                    document = with_lock(document, locked, command.by, self._clock.now())
                    await work.lock_document(workspace, document)
                    await self._changed(work, workspace, document, command)
            return replace(document, content=await work.content(workspace, key))

    async def _changed(self, work: Work, workspace: Workspace, document: Document, command: Command) -> None:
        """Tells of it, and keeps the request for repeats."""
        now = self._clock.now()
        await work.save(replace(workspace, updated_at=now))
        told = Told("document", workspace.session_id, version=workspace.plan_version, document=document.key)
        await work.fact(workspace.tenant, told, command.who, now)
        await work.store(b"")
