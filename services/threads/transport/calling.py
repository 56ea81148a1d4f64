"""Who calls: the verified principal as an actor with its roles and its idempotency key."""

from __future__ import annotations

from google.protobuf.message import Message

from services.kernel import idempotency
from services.kernel.principal import LOCAL, Principal
from services.threads.application.commands import Call
from services.threads.domain.events import Actor, ActorKind

READERS = ("viewer", "reviewer", "agent")
AUTHORS = ("reviewer", "agent")
"""Who may open threads and propose actions; decisions are for reviewers only."""


def actor_of(principal: Principal) -> Actor:
    """The actor that events name; it never comes from a body."""
    return Actor(ActorKind(principal.kind), principal.subject)


def runner_of(principal: Principal) -> Actor | None:
    """The runner that a token names, always a service; None where no token says who calls: then it is who holds the
    lease.
    """
    return None if principal is LOCAL else Actor(ActorKind.SERVICE, principal.subject)


def call(principal: Principal, method: str, request: Message, *, request_id: str, etag: str = "") -> Call:
    """A mutation: its key is the caller's, bound to the method and the whole body. The etag of a preview carries the
    mark of what was foreseen behind the thread's own.
    """
    read, _, mark = etag.partition(".")
    return Call(
        tenant=principal.tenant,
        actor=actor_of(principal),
        key=idempotency.key_for(principal, f"threads.{method}", request_id),
        digest=idempotency.body_digest(request.SerializeToString(deterministic=True)),
        etag=read or None,
        mark=mark or None,
    )
