"""Commands for an agent, delivered in order by the replica that its runner is attached to (S.5)."""

from __future__ import annotations

from services.kernel.errors import Conflict
from services.streaming.application.agent_ports import Agents, Bells, Command, Hold
from services.streaming.application.attachment import Attachment
from services.streaming.domain.errors import lease_lost

_POLL = 5.0
"""Seconds between two looks when no ping comes."""


async def deliver(rows: Agents, bells: Bells, hold: Hold, attachment: Attachment, taken: int) -> None:
    """Runs until cancelled, or until the session is not the runner's any more: then it is told why, and Conflict
    LEASE_LOST ends the attachment."""
    told = taken
    async with bells.of_session(hold.key) as bell:
        while True:
            try:
                commands = await rows.commands(hold, told)
            except Conflict:
                reason = await rows.why_lost(hold.job_id)
                if reason:
                    attachment.tell([Command(0, "", "shutdown", {"reason": reason})])
                    await attachment.told_all()
                raise lease_lost(hold.job_id) from None
            if commands:
                told = commands[-1].sequence
                attachment.tell(commands)
            attachment.nudge()
            await bell.wait(_POLL)
