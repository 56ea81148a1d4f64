"""What a worker has delivered (C.4): never waits, and answers the same bytes for the same version."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from services.coordination.application.result_ports import Delivery, Mailbox, Sayings
from services.coordination.application.sectioning import read
from services.coordination.domain import errors
from services.coordination.domain.limits import REPORT_BYTES
from services.coordination.domain.pages import TextPage, page_of
from services.coordination.domain.worker import Kind, Reason, Status, Worker
from services.kernel.errors import Invalid, Refusal
from services.kernel.principal import Principal
from services.kernel.telemetry import get_logger

_INLINE_MOST: Final = 64 * 1024
"""Code points that are hashed and cut on the event loop."""
_log = get_logger("coordination.collecting")


class Place(NamedTuple):
    """Where a page begins: of which text, and at which byte. `key`: the message, where it is no report."""

    worker_id: str
    version: int
    key: str
    begin: int


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be collected. `version` 0: the newest; `place`: from an earlier answer."""

    session_id: str
    thread_name: str
    version: int = 0
    full_text: bool = False
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A text that there is to collect, and which page of it. `key` names the message, where it is no report."""

    version: int
    key: str
    final: bool
    partial: bool
    found: bool
    page: TextPage
    at: datetime


@dataclass(frozen=True, slots=True)
class Collected:
    """The worker, and its text or a hint."""

    worker: Worker
    text: Text | None
    hint: str = ""

    @property
    def next(self) -> Place | None:
        """Where to go on; None on the last page."""
        text = self.text
        if text is None or text.page.last:
            return None
        return Place(self.worker.id, text.version, text.key, text.page.end)


class Collecting:
    """The use case."""

    def __init__(self, mailbox: Mailbox, sayings: Sayings) -> None:
        self._mailbox = mailbox
        self._sayings = sayings

    async def collect(self, caller: Principal, ask: Ask) -> Collected:
        """The worker's report as asked for. Without one, what a registered worker's session last said, and else a hint.
        WORKER_NOT_FOUND; INVALID_ARGUMENT for a version that it does not have."""
        version = ask.version if ask.place is None else ask.place.version
        if ask.version < 0 or (ask.place is not None and ask.version not in (0, version)):
            raise Invalid("INVALID_ARGUMENT", "version must be 0 or that of an earlier answer", field="version")
        looked = await self._mailbox.look(caller.tenant, ask.session_id, ask.thread_name, version or 0, ask.full_text)
        if looked is None:
            raise errors.worker_not_found(ask.thread_name)
        worker, delivery = looked
        if ask.place is not None and ask.place.worker_id != worker.id:
            raise _moved_on()
        if delivery is not None and (ask.place is None or ask.place.version):
            return await self._report(caller, ask, worker, delivery)
        if version:
            message = f"version must be 0..{worker.report_version}: the worker has no other reports"
            raise Invalid("INVALID_ARGUMENT", message, field="version", limit=worker.report_version)
        return await self._unreported(ask, worker)

    async def _report(self, caller: Principal, ask: Ask, worker: Worker, delivery: Delivery) -> Collected:
        page = await _cut(delivery.text, ask)
        partial = delivery.partial or not delivery.final
        text = Text(delivery.version, "", delivery.final, partial, delivery.found, page, delivery.created_at)
        # A person who looks in does not collect for the coordinator: it would not be woken for what it has not seen.
        if page.last and caller.kind == "agent":
            try:
                await self._mailbox.collected(worker, delivery.version)
            except Refusal as refusal:
                _log.warning("collect.not_marked", worker=worker.id, reason=refusal.reason)
        return Collected(worker, text)

    async def _unreported(self, ask: Ask, worker: Worker) -> Collected:
        if worker.kind is Kind.SESSION:
            said = await self._sayings.newest(worker.tenant, worker.session_id, worker.created_at)
            if ask.place is not None and (said is None or said.key != ask.place.key):
                raise _moved_on()
            if said is not None:
                section = (await read(said.text)).section
                result = said.text.strip() if section is None else section
                page = await _cut(said.text if ask.full_text else result, ask)
                partial = said.partial or worker.status is not Status.SUCCEEDED
                return Collected(worker, Text(0, said.key, False, partial, section is not None, page, said.at))
        elif ask.place is not None:
            raise _moved_on()
        return Collected(worker, None, _hint(worker))


async def _cut(text: str, ask: Ask) -> TextPage:
    begin = 0 if ask.place is None else ask.place.begin
    page = page_of(text, begin) if len(text) <= _INLINE_MOST else await asyncio.to_thread(page_of, text, begin)
    if page is None:
        raise _moved_on()
    return page


def _hint(worker: Worker) -> str:
    """What to do instead; never silence that could be taken for an empty success (PUB11)."""
    if worker.reason == Reason.RESULT_TOO_LARGE:
        return f"It ended as {worker.status} ({worker.reason}): its text had more than {REPORT_BYTES} bytes."
    if worker.ended:
        why = "" if worker.reason == worker.status else f" ({worker.reason})"
        session = " Its session may hold more." if worker.kind is Kind.SESSION else ""
        return f"It ended as {worker.status}{why} and reported no text.{session}"
    if worker.kind is Kind.SESSION:
        return "It has reported nothing, and its session holds no readable answer yet: look there."
    if worker.status is Status.SPAWNING:
        return "It has not started yet: wait for it with thread_wait, or collect later."
    return "It is still at work: wait for it with thread_wait, or collect later."


def _moved_on() -> Invalid:
    return Invalid(
        "INVALID_PAGE_TOKEN", "page_token is of a text that is not there any more: start again", field="page_token"
    )
