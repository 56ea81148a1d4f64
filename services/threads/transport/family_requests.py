"""Requests about families as plans: children, items, clusters, policies. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from services.kernel.errors import Invalid
from services.kernel.ids import NewId
from services.threads.application.family_plans import (
    Brood,
    ChildPlan,
    ClusterPlan,
    FamilyPlan,
    about_child,
    clustered,
)
from services.threads.domain import limits
from services.threads.domain.cascade import CascadePolicy, Rule
from services.threads.domain.checks import check_text
from services.threads.domain.states import State
from services.threads.domain.thread import ContextItem, Relationship
from services.threads.transport import reading
from services.threads.transport.card import state_of
from treadle.threads.v1 import thread_service_pb2 as pb

STATES: Final = {state_of(state): state for state in State}
_RELATIONSHIPS: Final = {
    pb.Thread.RELATIONSHIP_GROUP: Relationship.GROUP,
    pb.Thread.RELATIONSHIP_SINGULAR: Relationship.SINGULAR,
}
_RULES: Final = {
    pb.CascadePolicy.RULE_ALL_TERMINAL: Rule.ALL_TERMINAL,
    pb.CascadePolicy.RULE_ALL_DISMISSED_DISMISSES: Rule.ALL_DISMISSED_DISMISSES,
    pb.CascadePolicy.RULE_QUORUM: Rule.QUORUM,
    pb.CascadePolicy.RULE_ANY_DONE: Rule.ANY_DONE,
}


def family_plan(request: pb.CreateFamilyRequest, new_id: NewId) -> FamilyPlan:
    """CreateFamily."""
    relationship = _RELATIONSHIPS.get(request.relationship)
    if relationship is None:
        raise Invalid("INVALID_FIELD", "relationship is group or singular", field="relationship")
    scrape_id = None
    if relationship is Relationship.GROUP:
        scrape_id = scrape_of(request.originating_scrape_id) or new_id("scr")
    elif request.originating_scrape_id:
        raise Invalid("INVALID_FIELD", "only a group has an originating_scrape_id", field="originating_scrape_id")
    return FamilyPlan(
        title=request.title,
        description=request.description,
        brood=Brood(
            children=children_of(request.children, new_id),
            relationship=relationship,
            cascade_policy=cascade_of(request),
            originating_scrape_id=scrape_id,
        ),
        context_items=items_of("context_items", request.context_items, new_id),
        autonomy=reading.json_value("autonomy", request.autonomy_json),
        parent_id=reading.known_id(request.parent_id) if request.parent_id else None,
    )


def decompose_brood(request: pb.DecomposeThreadRequest, new_id: NewId) -> Brood:
    """DecomposeThread: the parent keeps its relationship."""
    return Brood(children_of(request.children, new_id), cascade_policy=cascade_of(request))


def group_brood(request: pb.GroupThreadRequest, new_id: NewId) -> Brood:
    """GroupThread."""
    items = items_of("items", request.items, new_id)
    clusters = [ClusterPlan(one.label, tuple(one.item_ids)) for one in request.clusters]
    return Brood(
        children=clustered(items, clusters),
        relationship=Relationship.GROUP,
        cascade_policy=cascade_of(request),
        originating_scrape_id=scrape_of(request.originating_scrape_id),
        source_count=len(items),
        cluster_count=len(clusters),
    )


def children_of(given: Sequence[pb.ChildInput], new_id: NewId) -> tuple[ChildPlan, ...]:
    """In order; a refusal names which child."""
    made = []
    for index, child in enumerate(given):
        try:
            made.append(_child(child, new_id))
        except Invalid as refusal:
            raise about_child(refusal, index) from None
    return tuple(made)


def items_of(field: str, given: Sequence[pb.ContextItem], new_id: NewId) -> tuple[ContextItem, ...]:
    """With ids for those that came without one."""
    return tuple(
        ContextItem(
            id=item.id or new_id("itm"),
            source=item.source,
            type=item.type,
            label=item.label,
            payload=reading.json_value(f"{field}[{index}].payload", item.payload_json),
        )
        for index, item in enumerate(given)
    )


def state_from(given: pb.Thread.State.ValueType) -> State | None:
    """The state, None where none is given. Invalid for a number that is none."""
    if given and given not in STATES:
        raise Invalid("INVALID_FIELD", "there is no such state", field="state")
    return STATES.get(given)


def cascade_of(
    request: pb.CreateFamilyRequest | pb.DecomposeThreadRequest | pb.GroupThreadRequest,
) -> CascadePolicy | None:
    """The policy; None where none is given: the relationship's own."""
    given = request.cascade_policy
    if not request.HasField("cascade_policy") or given.rule == pb.CascadePolicy.RULE_UNSPECIFIED:
        return None
    if given.rule not in _RULES:
        raise Invalid("INVALID_FIELD", "there is no such rule", field="cascade_policy.rule")
    return CascadePolicy(_RULES[given.rule], given.n)


def scrape_of(given: str) -> str | None:
    """The id of a collection run; None where none is given."""
    return check_text("originating_scrape_id", given, limits.SCRAPE_ID_MAX, shortest=1) if given else None


def _child(child: pb.ChildInput, new_id: NewId) -> ChildPlan:
    return ChildPlan(
        title=child.title,
        description=child.description,
        context_items=items_of("context_items", child.context_items, new_id),
        action=reading.action(child.action) if child.HasField("action") else None,
        autonomy=reading.json_value("autonomy", child.autonomy_json),
        state=state_from(child.state),
        question=child.question,
    )
