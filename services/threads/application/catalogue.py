"""The catalogue as decisions use it: names become registered actions, parameters are checked against the
schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from services.kernel.errors import AlreadyExists, Invalid
from services.threads.application.ports import SchemaCheck, Work
from services.threads.domain.autonomy import PROPOSED
from services.threads.domain.built_in import BUILT_IN
from services.threads.domain.canonical import JsonObject
from services.threads.domain.checks import check_object, check_text
from services.threads.domain.limits import NAME_MAX, RATIONALE_MAX
from services.threads.domain.options import PICKED_IN, binds, bound, proposable
from services.threads.domain.proposal import ActionChoice, ActionDraft, ActionKind
from services.threads.domain.registration import ACTIONS_MAX, Registration, checked
from services.threads.domain.thread import Thread


@dataclass(frozen=True)
class ActionRequest:
    """An action as somebody names it."""

    name: str
    parameters: JsonObject = field(default_factory=dict)
    rationale: str = ""


class Catalogue:
    """The actions of one tenant, inside one transaction."""

    def __init__(self, work: Work, tenant: str, schemas: SchemaCheck) -> None:
        self._work = work
        self._tenant = tenant
        self._schemas = schemas
        self._found: dict[str, Registration | None] = {}

    async def whole(self, thread: Thread) -> Thread:
        """A locked thread with its items."""
        return replace(thread, context_items=await self._work.items(self._tenant, thread.thread_id))

    async def find(self, name: str) -> Registration | None:
        """Built-in first; None when there is no such action."""
        if name not in self._found:
            self._found[name] = BUILT_IN.get(name) or await self._work.registration(self._tenant, name)
        return self._found[name]

    async def choice(self, given: ActionRequest | None, thread: Thread | None = None) -> ActionChoice | None:
        """What a person chose, with what is bound to the thread. Invalid UNKNOWN_ACTION or INVALID_PARAMETERS; an
        action that nobody may pick is unknown.
        """
        if given is None:
            return None
        check_text("rationale", given.rationale, RATIONALE_MAX)
        check_object("parameters", given.parameters)
        registration = await self._known(given.name)
        if not registration.available_in & PICKED_IN:
            raise _unknown(given.name)
        parameters = await self._bound(registration, given.parameters, thread)
        self._schemas.check("parameters", registration.schema, parameters)
        return ActionChoice(registration.action, parameters, given.rationale)

    async def proposal(self, given: ActionRequest) -> ActionChoice:
        """What an agent proposes in a session. Invalid UNKNOWN_ACTION or INVALID_PARAMETERS; an action that agents may
        not propose is unknown.
        """
        check_text("rationale", given.rationale, RATIONALE_MAX)
        check_object("parameters", given.parameters)
        registration = await self.find(check_text("capability_name", given.name, NAME_MAX, shortest=1))
        if registration is None or not proposable(registration):
            raise _unknown(given.name, "capability_name")
        self._schemas.check("parameters", registration.schema, given.parameters)
        return ActionChoice(registration.action, given.parameters, given.rationale)

    async def overrides(
        self, thread: Thread, given: JsonObject | None, choice: ActionChoice | None
    ) -> JsonObject | None:
        """Single parameters, `{action_id: {name: value}}` or plain; what they make must fit the schema."""
        if not given:
            return None
        check_object("action_overrides", given)
        changed = _of_action(thread, given)
        standing = thread.proposal
        if choice is None and standing is not None and standing.kind is ActionKind.STANDARD:
            registration = await self._known(standing.name)
            self._schemas.check("action_overrides", registration.schema, {**standing.parameters, **changed})
        elif choice is not None:
            registration = await self._known(choice.action.name)
            self._schemas.check("action_overrides", registration.schema, {**choice.parameters, **changed})
        return changed

    async def named(self, name: str, field: str) -> str:
        """The name of an action that exists, or an empty one. Invalid UNKNOWN_ACTION."""
        if name and await self.find(check_text(field, name, NAME_MAX)) is None:
            raise Invalid("UNKNOWN_ACTION", "there is no such action", field=field, action=name)
        return name

    async def admit(self, draft: ActionDraft, thread: Thread) -> tuple[ActionDraft, str]:
        """An inferred action with its registration, and a code when it cannot be proposed, else an empty
        one.
        """
        if draft.kind != ActionKind.STANDARD or draft.is_empty:
            return draft, ""
        if PROPOSED not in thread.autonomy.allowed_invocation_contexts:
            return draft, "action_not_allowed"
        registration = await self.find(draft.name)
        if registration is None or PROPOSED not in registration.available_in:
            return draft, "unknown_action"
        draft = replace(draft, parameters=await self._bound(registration, draft.parameters, thread))
        try:
            self._schemas.check("parameters", registration.schema, draft.parameters)
        except Invalid:
            return draft, "invalid_parameters"
        return _registered(draft, registration), ""

    async def register(self, registration: Registration) -> Registration:
        """Insert or replace. A built-in name is refused."""
        checked(registration)
        self._schemas.check_schema("action.parameters_schema", registration.schema)
        if registration.name in BUILT_IN:
            raise AlreadyExists("BUILT_IN_ACTION", "this name comes with Treadle", action=registration.name)
        await self._work.register(self._tenant, registration, ACTIONS_MAX)
        return registration

    async def _known(self, name: str) -> Registration:
        registration = await self.find(name)
        if registration is None:
            raise _unknown(name)
        return registration

    async def _bound(self, registration: Registration, parameters: JsonObject, thread: Thread | None) -> JsonObject:
        if thread is None or not binds(registration):
            return parameters
        return bound(registration, parameters, await self.whole(thread))


def _unknown(name: str, field: str = "action.capability_name") -> Invalid:
    return Invalid("UNKNOWN_ACTION", "there is no such action", field=field, action=name)


def offered(registrations: list[Registration]) -> list[Registration]:
    """All actions of a tenant by category and name."""
    return sorted([*BUILT_IN.values(), *registrations], key=lambda action: (action.category, action.name))


def _registered(draft: ActionDraft, registration: Registration) -> ActionDraft:
    fields = {name: getattr(draft, name) for name in draft.__dataclass_fields__}
    return ActionDraft(**{**fields, "action": registration.action})


def _of_action(thread: Thread, given: JsonObject) -> JsonObject:
    """The overrides of the standing action; those of another one are refused by name."""
    if not all(key.startswith("act-") for key in given):
        return given
    standing = thread.proposal.action_id if thread.proposal else None
    if set(given) != {standing}:
        raise Invalid("INVALID_EDIT", "there is no such action on the card", field="action_overrides")
    changed = given[str(standing)]
    if not isinstance(changed, Mapping):
        raise Invalid("INVALID_PARAMETERS", "an action's overrides are an object", field="action_overrides")
    return changed
