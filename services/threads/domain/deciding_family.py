"""What happens between a parent and its children: spawning, reports, the parent's end (sections 0.4, 0.5, 4.4)."""

from __future__ import annotations

from services.kernel.errors import Invalid
from services.threads.domain.branches import BranchFacts, resolve
from services.threads.domain.canonical import Json
from services.threads.domain.cascade import Tally, cascade_json, checked_policy, is_met
from services.threads.domain.commands import ReportChildren, SettleChildren, SpawnChildren
from services.threads.domain.drafting import Draft
from services.threads.domain.errors import InvalidTransition, PolicyMet
from services.threads.domain.events import FSM, Fact
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import DECOMPOSE
from services.threads.domain.states import State
from services.threads.domain.table import Branch, lookup
from services.threads.domain.thread import Thread
from services.threads.domain.triggers import Trigger


def spawn_children(draft: Draft, command: SpawnChildren) -> Draft:
    """Zero children are refused; a running action may spawn only if it is decompose (section 0.2)."""
    thread, count = draft.thread, len(command.child_thread_ids)
    if not count:
        raise Invalid("NO_CHILDREN", "at least one child is needed", field="children")
    refuse_spawn(thread)
    data: dict[str, Json] = {
        "child_thread_ids": list(command.child_thread_ids),
        "source_count": command.source_count or count,
    }
    if command.cascade_policy is not None:
        policy = checked_policy(command.cascade_policy, thread.children + count)
        standing = thread.tally
        if is_met(policy, Tally(standing.children + count, standing.open + count, standing.dismissed)):
            raise PolicyMet(thread.state)  # by children that have ended: the new ones would be for nothing
        data["cascade_policy"] = cascade_json(policy)
    if command.relationship is not None:
        data["parent_relationship"] = command.relationship
    if command.originating_scrape_id is not None:
        data["originating_scrape_id"] = command.originating_scrape_id
    if not command.labels:
        draft.add(Fact(Kind.SUBTHREADS_SPAWNED, data))
    else:
        data |= {"child_labels": list(command.labels), "cluster_count": command.cluster_count or count}
        if command.user_created:
            data["user_created"] = True
        draft.add(Fact(Kind.GROUPS_SPAWNED, data))
    return draft.move(Trigger.CHILDREN_SPAWNED)


def refuse_spawn(thread: Thread) -> None:
    """Refuse what could not get another child: an end, a running action that is not decompose, a policy that is met
    and only waits for what executes."""
    decomposes = thread.proposal is not None and thread.proposal.name == DECOMPOSE
    if lookup(thread.state, Trigger.CHILDREN_SPAWNED) is None or (thread.state is State.EXECUTING and not decomposes):
        raise InvalidTransition(thread.state, Trigger.CHILDREN_SPAWNED)
    if thread.policy_met:
        raise PolicyMet(thread.state)


def report_children(draft: Draft, command: ReportChildren) -> Draft:
    """One event a child and terminal entry. The one that satisfies the policy while others are open says so."""
    for child, state in command.ended:
        thread = draft.thread
        before = thread.tally
        after = Tally(before.children, before.open - 1, before.dismissed + (state is State.DISMISSED))
        data: dict[str, Json] = {"child_thread_id": child, "child_terminal_state": state}
        if after.open and not thread.policy_met and is_met(thread.policy_in_force, after):
            data["policy_met"] = True
        draft.add(Fact(Kind.SUBTHREAD_TERMINAL_REPORTED, data, FSM))
    return draft


def settle_children(draft: Draft, command: SettleChildren) -> Draft:
    """Ends a monitoring parent; nothing to end is nothing to write."""
    facts = BranchFacts(all_terminal=command.all_terminal, all_dismissed_singular=command.all_dismissed_singular)
    if draft.thread.state is not State.MONITORING:
        raise InvalidTransition(draft.thread.state, Trigger.EXECUTION_DONE)
    if resolve(Branch.DONE_WHEN_ALL_SUBTHREADS_TERMINAL, facts).state is State.MONITORING:
        return draft
    data: dict[str, Json] = {
        "all_terminal": command.all_terminal,
        "all_dismissed_singular": command.all_dismissed_singular,
    }
    return draft.move(Trigger.EXECUTION_DONE, facts=facts, data=data)
