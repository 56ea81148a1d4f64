"""What agents propose in their sessions waits at the gate, belongs to its session, and is decided by people alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import orjson
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from services.kernel.clock import SystemClock
from services.kernel.errors import (
    AlreadyExists,
    Conflict,
    Denied,
    Exhausted,
    Invalid,
    NotFound,
    Refusal,
    TooLarge,
)
from services.kernel.grpc_client import open_channel
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.kernel.principal import Authenticator, Kind, Principal
from services.threads.adapters.stored import verify
from tests.integration.threads.client import EXECUTION, INFERENCE, Client, told
from tests.integration.threads.conftest import StartThreads
from treadle.threads.v1 import catalog_service_pb2 as catalogue_pb
from treadle.threads.v1 import thread_service_pb2 as pb

SECRET = "a secret of more than thirty-two characters"
GATE = pb.Thread.STATE_AWAITING_CONFIRMATION
TASK = b'{"task_text": "call"}'


def asked(session: str, **fields: Any) -> pb.ProposeActionRequest:
    """A proposal of a task."""
    fields = {"title": "Call them", "capability_name": "task_create", "parameters_json": TASK, **fields}
    return pb.ProposeActionRequest(session=f"sessions/{session}", **fields)


async def propose(threads: Client, session: str, **fields: Any) -> pb.ProposeActionResponse:
    """By whoever the client is."""
    answer: pb.ProposeActionResponse = await told(threads.people.ProposeAction(asked(session, **fields)))
    return answer


async def proposals(threads: Client, session: str, **fields: Any) -> list[pb.SessionProposal]:
    """One page."""
    request = pb.ListProposalsRequest(session=f"sessions/{session}", **fields)
    return list((await told(threads.people.ListProposals(request))).proposals)


async def listed(threads: Client, **fields: Any) -> list[str]:
    """Ids of ListThreads."""
    page = await told(threads.people.ListThreads(pb.ListThreadsRequest(page_size=200, **fields)))
    return [one.id for one in page.threads]


@pytest.fixture
def session() -> str:
    """A session's id."""
    return new_id("ses")


async def test_a_proposal_waits_at_the_gate_and_runs_once_when_a_person_approves(threads: Client, session: str) -> None:
    turn = new_id("trn")
    answer = await propose(threads, session, rationale="They wait", description="Since May", turn_id=turn)
    assert (answer.state, bool(answer.hint)) == (GATE, True)
    name = f"threads/{answer.thread_id}"
    card = await threads.get(name)
    assert (card.session_id, card.turn_id, card.title) == (session, turn, "Call them")
    (action,) = card.actions
    assert (action.proposal_id, action.name, action.rationale) == (answer.proposal_id, "task_create", "They wait")
    assert action.parameters_json == b'{"task_text":"call"}'
    inbox = await told(threads.people.ListInbox(pb.ListInboxRequest()))
    assert [one.id for one in inbox.threads] == [answer.thread_id]
    assert await threads.claim(wait=0) == []
    await threads.accept(name, card)
    await threads.execute()
    assert await threads.state(name) == "done"
    log = await threads.events(name)
    assert [kind for kind, _ in log].count("execution_started") == 1
    assert (log[0][1]["session_id"], log[0][1]["turn_id"]) == (session, turn)
    (one,) = await proposals(threads, session)
    assert (one.decision, one.result.success, one.state) == ("approve", True, pb.Thread.STATE_DONE)
    assert (one.capability_name, one.turn_id, one.revision) == ("task_create", turn, 1)


async def test_whatever_its_risk_it_never_passes_the_gate_by_itself(threads: Client, session: str) -> None:
    """Not even what is proposed after a redirect."""
    answer = await propose(threads, session)
    name = f"threads/{answer.thread_id}"
    card = await threads.get(name)
    request = pb.RedirectActionRequest(name=name, feedback="another")
    await told(threads.people.RedirectAction(request))
    await threads.infer({**TASK_DRAFT, "parameters": {"task_text": "another"}})
    assert await threads.state(name) == "awaiting_confirmation"
    assert await threads.claim(EXECUTION, wait=0) == []
    (one,) = await proposals(threads, session)
    assert (one.decision, one.revision, one.HasField("result")) == ("", 2, False)
    with pytest.raises(Conflict):
        await threads.accept(name, card)


TASK_DRAFT = {"kind": "standard", "name": "task_create", "plan_summary": "It"}


async def test_a_failed_run_and_a_rejection_are_told(threads: Client, session: str) -> None:
    failed, rejected = await propose(threads, session), await propose(threads, session)
    card = await threads.get(f"threads/{failed.thread_id}")
    await threads.accept(card.name, card)
    await threads.execute(success=False)
    await told(threads.people.RejectThread(pb.RejectThreadRequest(name=f"threads/{rejected.thread_id}")))
    newest, older = await proposals(threads, session)
    assert (newest.decision, newest.state) == ("reject", pb.Thread.STATE_DISMISSED)
    assert (older.result.success, older.result.code) == (False, "action_failed")
    assert b"ZX-SECRET-7" not in older.SerializeToString()
    (only,) = await proposals(threads, session, thread_id=failed.thread_id)
    assert only == older


async def test_a_session_sees_its_own_proposals_alone_in_exact_pages(threads: Client, session: str) -> None:
    made = [(await propose(threads, session, title=str(number))).thread_id for number in range(5)]
    other = await propose(threads, new_id("ses"))
    seen: list[str] = []
    request = pb.ListProposalsRequest(session=f"sessions/{session}", page_size=2)
    while True:
        page = await told(threads.people.ListProposals(request))
        seen += [one.thread_id for one in page.proposals]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert seen == made[::-1]
    with pytest.raises(NotFound):
        await proposals(threads, session, thread_id=other.thread_id)
    with pytest.raises(NotFound):
        await proposals(threads, session, thread_id="nothing")
    with pytest.raises(Invalid):
        await proposals(threads, new_id("ses"), page_token=request.page_token)


async def test_the_same_request_is_proposed_once_on_two_replicas(start_threads: StartThreads, session: str) -> None:
    one, two = await start_threads(), await start_threads()
    calls = [propose((one, two)[turn % 2], session, request_id="again") for turn in range(10)]
    assert len({answer.SerializeToString() for answer in await asyncio.gather(*calls)}) == 1
    assert len(await proposals(one, session)) == 1
    with pytest.raises(AlreadyExists):
        await propose(two, session, request_id="again", title="Other")


async def test_pub01_two_approvals_of_a_proposal_take_effect_once(start_threads: StartThreads, session: str) -> None:
    one, two = await start_threads(), await start_threads()
    answer = await propose(one, session)
    card = await one.get(f"threads/{answer.thread_id}")

    async def approve(by: Client) -> str:
        try:
            await by.accept(card.name, card)
        except Conflict as lost:
            return lost.reason
        return "ok"

    calls = await asyncio.gather(*(approve((one, two)[turn % 2]) for turn in range(10)))
    assert Counter(calls) == {"ok": 1, "ALREADY_DECIDED": 9}
    await two.execute()
    assert await one.claim(EXECUTION, wait=0) == []


async def test_an_approval_in_one_session_never_acts_on_another(threads: Client, session: str) -> None:
    """The same words in a branch are another proposal (design/planning.md P.3)."""
    here, there = await propose(threads, session), await propose(threads, new_id("ses"))
    mine, theirs = [await threads.get(f"threads/{one.thread_id}") for one in (here, there)]
    assert mine.actions[0].proposal_digest != theirs.actions[0].proposal_digest
    with pytest.raises(Conflict):
        await threads.accept(mine.name, theirs)
    await threads.accept(theirs.name, theirs)
    await threads.execute()
    assert (await threads.state(mine.name), await threads.state(theirs.name)) == ("awaiting_confirmation", "done")


@pytest.mark.parametrize(
    ("fields", "kind", "field"),
    [
        ({"session": "sessions/nobody"}, Invalid, "session"),
        ({"session": ""}, Invalid, "session"),
        ({"turn_id": "trn_1"}, Invalid, "turn_id"),
        ({"title": " "}, Invalid, "title"),
        ({"title": "x" * 201}, Invalid, "title"),
        ({"title": "two\nlines"}, Invalid, "title"),
        ({"title": "x\0y"}, Invalid, "title"),
        ({"description": "x" * 20_001}, Invalid, "description"),
        ({"rationale": "x" * 4_001}, Invalid, "rationale"),
        ({"rationale": "x\0y"}, Invalid, "rationale"),
        ({"capability_name": ""}, Invalid, "capability_name"),
        ({"capability_name": "x" * 121}, Invalid, "capability_name"),
        ({"capability_name": "no_such"}, Invalid, "capability_name"),
        ({"parameters_json": b"{}"}, Invalid, "parameters"),
        ({"parameters_json": b'{"task_text": 5}'}, Invalid, "parameters.task_text"),
        ({"parameters_json": b'{"task_text": "x", "more": 1}'}, Invalid, "parameters"),
        ({"parameters_json": b"[]"}, Invalid, "parameters"),
        ({"parameters_json": b"{"}, Invalid, "parameters"),
        ({"parameters_json": b'{"task_text": "x\\u0000y"}'}, Invalid, "parameters"),
        ({"parameters_json": b'{"task_text": "x\\ud83dy"}'}, Invalid, "parameters"),
        ({"parameters_json": b'{"task_text": 123456789012345678901234567890}'}, Invalid, "parameters.task_text"),
        ({"parameters_json": b'{"a":' * 30 + b"1" + b"}" * 30}, Invalid, "parameters"),
        ({"parameters_json": orjson.dumps({"task_text": "x" * 70_000})}, Refusal, "parameters"),
        ({"parameters_json": b" " * 1_100_000}, TooLarge, "parameters"),
        ({"context_items": [pb.ContextItem(id="a"), pb.ContextItem(id="a")]}, Invalid, "context_items[1].id"),
        ({"context_items": [pb.ContextItem(payload_json=b"{")]}, Invalid, "context_items[0].payload"),
    ],
)
async def test_pub22_what_does_not_fit_is_refused_by_its_field_and_writes_nothing(
    threads: Client, session: str, fields: dict[str, Any], kind: type[Refusal], field: str
) -> None:
    request = asked(session)
    for name, value in fields.items():
        request.ClearField(name)  # type: ignore[arg-type]
        if isinstance(value, list):
            getattr(request, name).extend(value)
        else:
            setattr(request, name, value)
    with pytest.raises(kind) as refusal:
        await told(threads.people.ProposeAction(request))
    assert refusal.value.metadata["field"] == field
    assert await listed(threads) == []


async def test_only_what_agents_may_propose_can_be_proposed(threads: Client, session: str) -> None:
    for name, where in (("people_only", ["user_invocation"]), ("agents_too", ["agent_conversation"])):
        action = catalogue_pb.ActionRegistration(capability_name=name, category="x", available_in=where)
        await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=action)))
    with pytest.raises(Invalid, match="no such action"):
        await propose(threads, session, capability_name="people_only", parameters_json=b"")
    await propose(threads, session, capability_name="agents_too", parameters_json=b"")


async def test_what_may_be_proposed_is_listed_with_its_schema_in_pages_that_fit(threads: Client, session: str) -> None:
    schema = orjson.dumps({"type": "object", "description": "y" * 60_000})
    for number in range(60):
        action = catalogue_pb.ActionRegistration(
            capability_name=f"big_{number:02}",
            category="big",
            parameters_schema_json=schema,
            available_in=["action_proposal"] if number else ["user_invocation"],
        )
        await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=action)))
    request = pb.ListProposableActionsRequest(session=f"sessions/{session}")
    seen: list[pb.ProposableAction] = []
    pages = 0
    while True:
        page = await told(threads.people.ListProposableActions(request))
        seen, pages = [*seen, *page.actions], pages + 1
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    names = [one.capability_name for one in seen]
    assert len(names) == len(set(names))
    assert pages == 2
    assert {"task_create", "shell", "big_01", "big_59"} <= set(names)
    assert "big_00" not in names
    task = next(one for one in seen if one.capability_name == "task_create")
    assert orjson.loads(task.parameters_schema_json)["required"] == ["task_text"]
    assert (task.irreversibility, bool(task.description)) == ("low", True)
    request.session = f"sessions/{new_id('ses')}"
    with pytest.raises(Invalid):
        await told(threads.people.ListProposableActions(request))


async def test_a_session_has_at_most_a_hundred_open_proposals_under_any_race(
    start_threads: StartThreads, session: str
) -> None:
    one, two = await start_threads(), await start_threads()

    async def once(turn: int) -> str:
        try:
            return (await propose((one, two)[turn % 2], session)).thread_id
        except Exhausted as refused:
            return f"{refused.reason} {refused.metadata['limit']}"

    made = await asyncio.gather(*(once(turn) for turn in range(110)))
    assert made.count("TOO_MANY_PROPOSALS 100") == 10
    await propose(two, new_id("ses"))
    gone = next(thread for thread in made if thread.startswith("thr_"))
    await told(one.people.DismissThread(pb.DismissThreadRequest(name=f"threads/{gone}")))
    assert (await once(0)).startswith("thr_")
    assert await once(1) == "TOO_MANY_PROPOSALS 100"


async def test_an_agent_proposes_for_its_own_session_and_approves_nothing(
    start_threads: StartThreads, session: str
) -> None:
    served = await start_threads(auth_secret=SECRET)
    authenticator = Authenticator(SECRET, SystemClock())

    def of(tenant: str, subject: str, *roles: str, kind: Kind = "user") -> Client:
        token = authenticator.mint(Principal(tenant, subject, kind, frozenset(roles)), timedelta(minutes=1))
        return Client(open_channel(served.address, lambda: f"Bearer {token}"), served.life)

    agent, other = of("acme", session, "agent", kind="agent"), new_id("ses")
    ada, eve, vic = of("acme", "ada", "reviewer"), of("evil", "eve", "reviewer"), of("acme", "vic", "viewer")
    made = await propose(agent, session)
    for call in (
        propose(agent, other),
        proposals(agent, other),
        propose(of("acme", session, "agent"), other),
        propose(vic, session),
        propose(of("acme", "r", "runner", kind="service"), session),
    ):
        with pytest.raises(Denied):
            await call
    with pytest.raises(Denied) as denied:
        await propose(agent, other)
    assert denied.value.reason == "NOT_YOURS"
    assert await proposals(eve, session) == []
    with pytest.raises(NotFound):
        await proposals(eve, session, thread_id=made.thread_id)
    await propose(ada, other)
    assert len(await proposals(vic, session)) == len(await proposals(ada, other)) == 1
    card = await ada.get(f"threads/{made.thread_id}")
    with pytest.raises(Denied):
        await agent.accept(card.name, card)
    await ada.accept(card.name, card)
    page = await told(ada.people.ListThreadEvents(pb.ListThreadEventsRequest(name=card.name)))
    who = [(event.actor.kind, event.actor.subject) for event in page.events]
    assert (who[0], who[-1]) == ((2, session), (1, "ada"))


async def test_lists_by_session_and_by_what_was_open_then(threads: Client, session: str) -> None:
    async def card(thread_id: str) -> pb.Thread:
        return await threads.get(f"threads/{thread_id}")

    first = (await propose(threads, session, title="first")).thread_id
    plain = (await threads.create("plain")).id
    second = (await propose(threads, session, title="second")).thread_id
    await told(threads.people.DismissThread(pb.DismissThreadRequest(name=f"threads/{first}")))
    third = (await propose(threads, session, title="third")).thread_id
    begun = (await card(second)).create_time
    after = (await card(third)).create_time
    before = Timestamp(seconds=begun.seconds - 3600)
    assert await listed(threads, session_id=session) == [third, second, first]
    assert await listed(threads, session_id=session, state=[pb.Thread.STATE_DISMISSED]) == [first]
    assert await listed(threads, session_id=session, q="second") == [second]
    assert await listed(threads, session_id=session, parent_id=plain) == []
    assert await listed(threads, session_id=new_id("ses")) == []
    assert await listed(threads, session_id=session, open_at=begun) == [second, first]
    assert await listed(threads, session_id=session, open_at=after) == [third, second]
    assert await listed(threads, session_id=session, open_at=before) == []
    assert await listed(threads, open_at=begun) == [second, plain, first]
    ended = (await card(first)).update_time
    assert first not in await listed(threads, open_at=ended)
    page = await told(threads.people.ListThreads(pb.ListThreadsRequest(page_size=1, session_id=session)))
    for other in ({"session_id": new_id("ses")}, {"session_id": session, "open_at": begun}, {}):
        request = pb.ListThreadsRequest(page_token=page.next_page_token, **other)
        with pytest.raises(Invalid):
            await told(threads.people.ListThreads(request))
    for bad, field in (({"session_id": "x"}, "session_id"), ({"open_at": Timestamp(seconds=2**60)}, "open_at")):
        with pytest.raises(Invalid) as refusal:
            await listed(threads, **bad)
        assert refusal.value.metadata["field"] == field


async def test_its_children_and_its_log_keep_what_is_promised(threads: Client, database_url: str, session: str) -> None:
    whole = await propose(
        threads,
        session,
        capability_name="decompose",
        parameters_json=orjson.dumps({"children": [{"title": "a"}, {"title": "b"}]}),
    )
    card = await threads.get(f"threads/{whole.thread_id}")
    await threads.accept(card.name, card)
    assert await threads.state(card.name) == "monitoring"
    await told(threads.people.RenameThread(pb.RenameThreadRequest(name=card.name, title="Both")))
    assert [one.session_id for one in (await threads.get(card.name),)] == [session]
    assert [job.id for job in await threads.claim(INFERENCE, wait=0, most=5)]
    database = await Database.open(database_url, "test")
    try:
        assert await verify(database) == []
        async with database.connection() as tx:
            await tx.raw.execute("UPDATE threads SET session_id = NULL WHERE session_id IS NOT NULL")
        assert any("the column says session None" in fault for fault in await verify(database))
    finally:
        await database.close()


async def test_rows_of_before_read_as_proposed_in_no_session(threads: Client, database_url: str) -> None:
    thread = await threads.to_gate()
    database = await Database.open(database_url, "test")
    try:
        async with database.connection() as tx:
            await tx.raw.execute("UPDATE threads SET doc = (doc::jsonb - 'session_id' - 'turn_id')::json")
        card = await threads.get(thread.name)
        assert (card.session_id, card.turn_id) == ("", "")
        await threads.accept(card.name, card)
        await threads.execute()
        assert await verify(database) == []
    finally:
        await database.close()
