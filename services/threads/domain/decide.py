"""decide(thread, command, stamp) -> events: the one entrance to every rule. Pure; a refusal writes
nothing.
"""

from __future__ import annotations

from typing import assert_never

from services.kernel.errors import AlreadyExists
from services.threads.domain import (
    accepting,
    deciding_choices,
    deciding_combined,
    deciding_execution,
    deciding_family,
    deciding_inference,
    deciding_items,
    deciding_upkeep,
)
from services.threads.domain import commands as c
from services.threads.domain.created import creation
from services.threads.domain.drafting import Draft
from services.threads.domain.errors import StaleEtag, ThreadNotFound
from services.threads.domain.events import Event, number
from services.threads.domain.evolve import evolve
from services.threads.domain.proposing import decision
from services.threads.domain.thread import Thread
from services.threads.domain.triggers import Trigger


def decide(thread: Thread | None, command: c.Command, stamp: c.Stamp) -> tuple[Event, ...]:
    """The events that `command` causes on `thread`, numbered after its newest one; see `decide_and_evolve`."""
    return decide_and_evolve(thread, command, stamp)[0]


def decide_and_evolve(thread: Thread | None, command: c.Command, stamp: c.Stamp) -> tuple[tuple[Event, ...], Thread]:
    """The events of a command, and the thread as they leave it.

    Raises a Refusal and nothing else for what a caller may be told; an empty answer means that nothing
    changes.
    """
    if isinstance(command, c.CreateThread):
        return _create(thread, command, stamp)
    if thread is None:
        raise ThreadNotFound("")
    if stamp.etag is not None and stamp.etag != thread.etag:
        raise StaleEtag(thread.etag, thread.state, thread.decided)
    draft = _apply(Draft(thread, stamp), command)
    return draft.events, draft.thread


def _create(thread: Thread | None, command: c.CreateThread, stamp: c.Stamp) -> tuple[tuple[Event, ...], Thread]:
    """Creation and the begin of inference are one (section 0.1a)."""
    if thread is not None:
        raise AlreadyExists("THREAD_EXISTS", "the thread exists", thread_id=thread.thread_id)
    command = deciding_upkeep.checked_creation(command)
    (event,) = number([creation(command)], 0, stamp.now, stamp.actor, stamp.new_event_id)
    draft = Draft(evolve(None, event), stamp, (event,))
    if command.spawn is not None:
        deciding_upkeep.begin_elsewhere(draft, command.spawn)
    elif command.begin:
        draft.move(Trigger.BEGIN_INFERENCE)
    return draft.events, draft.thread


def _apply(draft: Draft, command: c.Command) -> Draft:
    match command:
        case c.CreateThread():
            raise AlreadyExists("THREAD_EXISTS", "the thread exists", thread_id=draft.thread.thread_id)
        case c.BeginInference():
            return draft.move(Trigger.BEGIN_INFERENCE)
        case c.ClaimInference():
            return deciding_inference.claim(draft, command)
        case c.CompleteInference():
            return deciding_inference.complete(draft, command)
        case c.CompleteCombined():
            return deciding_combined.complete(draft, command)
        case c.FailInference():
            return deciding_inference.fail(draft, command)
        case c.LoseInference():
            return deciding_inference.lose(draft, command)
        case c.RefuseInference():
            return deciding_inference.refuse(draft, command)
        case c.Accept():
            return accepting.accept(draft, command)
        case c.Edit():
            return deciding_choices.edit(draft, command)
        case c.Provide():
            return deciding_choices.provide(draft, command)
        case c.Reject():
            return deciding_choices.reject(draft, command)
        case c.Dismiss():
            return deciding_choices.dismiss(draft, command)
        case c.Redirect():
            return deciding_choices.redirect(draft, command)
        case c.RedirectAction():
            return deciding_choices.redirect_action(draft, command)
        case c.PickAction():
            return deciding_choices.pick(draft, command)
        case c.AcceptReview():
            return deciding_choices.accept_review(draft, command)
        case c.HandOff():
            return deciding_choices.hand_off(draft, command)
        case c.GiveItems():
            return deciding_items.give(draft, command)
        case c.TakeItems():
            return deciding_items.take(draft, command)
        case c.DeleteColumn():
            return deciding_items.delete_column(draft, command)
        case c.Later():
            return draft.add(deciding_upkeep.postponed(draft.thread, command, draft.stamp.now))
        case c.Resurface():
            return deciding_upkeep.resurface(draft)
        case c.Rename():
            return draft.add(deciding_upkeep.renamed(draft.thread, command))
        case c.StartExecution():
            return deciding_execution.start(draft, command)
        case c.FinishExecution():
            return deciding_execution.finish(draft, command)
        case c.LoseExecution():
            return deciding_execution.lose(draft, command)
        case c.RecordLateResult():
            return deciding_execution.record_late(draft, command)
        case c.Timeout():
            return deciding_upkeep.timeout(draft)
        case c.RequestCleanup():
            data = {"cleanup": command.task}
            return draft.move(Trigger.CLEANUP_REQUESTED, decision=decision("cleanup"), data=data)
        case c.FinishCleanup():
            return deciding_upkeep.finish_cleanup(draft, command)
        case c.RetryCleanup():
            data = {"cleanup": command.task}
            return draft.move(Trigger.RETRY_CLEANUP, decision=decision("retry_cleanup"), data=data)
        case c.AcceptCleanupFailure():
            return draft.move(Trigger.ACCEPT_CLEANUP_FAILURE, decision=decision("accept_cleanup_failure"))
        case c.ForceClose():
            return deciding_upkeep.force_close(draft, command)
        case c.SpawnChildren():
            return deciding_family.spawn_children(draft, command)
        case c.ReportChildren():
            return deciding_family.report_children(draft, command)
        case c.SettleChildren():
            return deciding_family.settle_children(draft, command)
        case _:
            assert_never(command)
