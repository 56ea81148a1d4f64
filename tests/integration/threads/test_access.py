"""Who may do what, and whose threads are whose (I9): tokens are verified by the service itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.kernel.clock import SystemClock
from services.kernel.errors import Denied, NotFound, Unauthenticated
from services.kernel.grpc_client import open_channel
from services.kernel.principal import Authenticator, Kind, Principal
from tests.integration.threads.client import Client, citation, told
from tests.integration.threads.conftest import StartThreads
from treadle.threads.v1 import thread_service_pb2 as pb

SECRET = "a secret of more than thirty-two characters"


class Doors:
    """Clients of one service under different principals."""

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address
        self._authenticator = Authenticator(SECRET, SystemClock())

    def of(self, tenant: str, subject: str, *roles: str, kind: Kind = "user") -> Client:
        """A client with a token of its own."""
        token = self._authenticator.mint(Principal(tenant, subject, kind, frozenset(roles)), timedelta(minutes=1))
        return Client(open_channel(self._address, lambda: f"Bearer {token}"), self._client.life)


@pytest.fixture
async def doors(start_threads: StartThreads) -> Doors:
    """A service with a secret."""
    client = await start_threads(auth_secret=SECRET)
    return Doors(client, client.address)


async def test_without_a_token_nothing_is_answered(doors: Doors, start_threads: StartThreads) -> None:
    with pytest.raises(Unauthenticated):
        await doors._client.create()


async def test_tenants_do_not_see_each_other(doors: Doors) -> None:
    ada, eve = doors.of("acme", "ada", "reviewer"), doors.of("evil", "eve", "reviewer")
    thread = await ada.create(request_id="same-key")
    other = await eve.create("Mine", request_id="same-key")
    assert other.id != thread.id
    with pytest.raises(NotFound):
        await eve.get(thread.name)
    with pytest.raises(NotFound):
        await told(eve.people.DismissThread(pb.DismissThreadRequest(name=thread.name)))
    listed = await told(eve.people.ListThreads(pb.ListThreadsRequest()))
    assert [one.id for one in listed.threads] == [other.id]
    page = await told(ada.people.ListThreads(pb.ListThreadsRequest()))
    assert [one.id for one in page.threads] == [thread.id]


async def test_roles_bound_what_a_caller_may_do(doors: Doors) -> None:
    ada = doors.of("acme", "ada", "reviewer")
    viewer, agent = doors.of("acme", "vic", "viewer"), doors.of("acme", "bot", "agent", kind="agent")
    runner = doors.of("default", "runner-1", "runner", kind="service")
    thread = await agent.create()
    assert (await viewer.get(thread.name)).id == thread.id
    with pytest.raises(Denied):
        await viewer.create()
    with pytest.raises(Denied):
        await ada.claim(wait=0)
    with pytest.raises(Denied):
        await runner.get(thread.name)
    (job,) = await runner.claim(wait=0)
    assert job.tenant == "acme"
    pick = pb.SetActionProposalRequest(name=thread.name, capability_name="thread_dismiss")
    with pytest.raises(Denied):
        await told(viewer.people.SetActionProposal(pick))


async def test_an_agent_may_propose_and_never_approve_and_events_name_who_did(doors: Doors) -> None:
    ada, agent = doors.of("acme", "ada", "reviewer"), doors.of("acme", "bot", "agent", kind="agent")
    thread = await agent.create()
    pick = pb.SetActionProposalRequest(name=thread.name, capability_name="thread_dismiss")
    await told(agent.people.SetActionProposal(pick))
    card = await ada.get(thread.name)
    with pytest.raises(Denied):
        await agent.accept(thread.name, card)
    await ada.accept(thread.name, None, **citation(card))
    page = await told(ada.people.ListThreadEvents(pb.ListThreadEventsRequest(name=thread.name)))
    who = [(event.actor.kind, event.actor.subject) for event in page.events]
    assert who[0] == (2, "bot")
    assert who[-1] == (1, "ada")
