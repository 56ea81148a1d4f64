"""Every session has a workspace in planning, which is told at once, and again until it has heard (P.1)."""

from __future__ import annotations

import asyncio

from services.kernel.errors import NotAllowed, Refusal, Unavailable
from services.kernel.telemetry import get_logger
from services.streaming.application.plan_ports import Plans, Workspaces
from services.streaming.application.ports import SessionKey

_MOST = 50
_SWEEP_SECONDS = 2.0
_log = get_logger("streaming.workspaces")


class WorkspaceDuty:
    """Sessions are `wanted` by the transaction that makes them."""

    def __init__(self, rows: Workspaces, plans: Plans) -> None:
        self._rows = rows
        self._plans = plans

    async def ensure(self, key: SessionKey) -> None:
        """Never fails: what planning did not hear now it hears in a moment."""
        try:
            await self._ensure(key)
        except Refusal as refusal:
            _log.warning("workspace.waits", session=key.session, reason=refusal.reason)

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            try:
                for key in await self._rows.wanted(_MOST):
                    await self._ensure(key)
            except Unavailable as refusal:
                _log.warning("workspaces.wait", reason=refusal.reason)
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _ensure(self, key: SessionKey) -> None:
        try:
            await self._plans.ensure(key)
        except NotAllowed as refusal:  # its workspace was deleted: there is nothing to make any more
            _log.info("workspace.refused", session=key.session, reason=refusal.reason)
        await self._rows.made(key)
