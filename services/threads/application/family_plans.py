"""What a family is to be made of, as a caller says it; and the clusters of a group (design/threads.md, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from services.kernel.errors import Invalid, Refusal
from services.threads.application.catalogue import ActionRequest
from services.threads.domain import limits
from services.threads.domain.canonical import Json
from services.threads.domain.cascade import CascadePolicy
from services.threads.domain.checks import check_text
from services.threads.domain.proposal import DECOMPOSE, as_object
from services.threads.domain.reading import text
from services.threads.domain.states import State
from services.threads.domain.thread import ContextItem, Relationship, Thread

_AUDIT: Final = "subcall"
"""The source of sub-LLM audit items (section 5.2)."""


@dataclass(frozen=True)
class ChildPlan:
    """A child. `state` None: it begins inference, or waits at the gate where an action is given."""

    title: str
    description: str = ""
    context_items: tuple[ContextItem, ...] = ()
    action: ActionRequest | None = None
    autonomy: Json = None
    state: State | None = None
    question: str = ""


@dataclass(frozen=True)
class Brood:
    """Children for one parent, in order; None keeps what the parent has."""

    children: tuple[ChildPlan, ...]
    relationship: Relationship | None = None
    cascade_policy: CascadePolicy | None = None
    originating_scrape_id: str | None = None
    source_count: int = 0
    cluster_count: int = 0
    user_created: bool = False


@dataclass(frozen=True)
class FamilyPlan:
    """An umbrella that does not exist yet, and its children."""

    title: str
    description: str
    brood: Brood
    context_items: tuple[ContextItem, ...] = ()
    autonomy: Json = None
    parent_id: str | None = None


@dataclass(frozen=True)
class ClusterPlan:
    """Items that belong together, by id."""

    label: str
    item_ids: tuple[str, ...]


def with_family_items(plan: FamilyPlan) -> FamilyPlan:
    """Give every child what the matter came with: a singular family's items all of them, a group's only the sub-LLM
    audit items, since its columns hold what can be moved. A child's own item of the same id stays.
    """
    singular = plan.brood.relationship is Relationship.SINGULAR
    given = [item for item in plan.context_items if singular or item.source == _AUDIT]
    if not given:
        return plan
    children = tuple(_with_items(child, given) for child in plan.brood.children)
    return replace(plan, brood=replace(plan.brood, children=children))


def clustered(items: Sequence[ContextItem], clusters: Sequence[ClusterPlan]) -> tuple[ChildPlan, ...]:
    """An item goes to the first cluster that names it; unknown ids are ignored, empty clusters dropped, and what no
    cluster names forms a trailing "Ungrouped" child.
    """
    if not items:
        raise Invalid("NO_CHILDREN", "at least one item is needed", field="items")
    if len(items) > limits.CHILDREN_MAX:
        most = limits.CHILDREN_MAX
        raise Invalid("INVALID_ITEMS", f"items has more than {most}", field="items", limit=most)
    if len(clusters) > limits.CLUSTERS_MAX:
        most = limits.CLUSTERS_MAX
        raise Invalid("INVALID_FIELD", f"clusters has more than {most}", field="clusters", limit=most)
    left = {item.id: item for item in items}
    if len(left) != len(items):
        raise Invalid("INVALID_ITEMS", "two items have one id", field="items")
    columns = []
    for index, cluster in enumerate(clusters):
        taken = tuple(left.pop(item_id) for item_id in dict.fromkeys(cluster.item_ids) if item_id in left)
        if taken:
            columns.append(ChildPlan(_label(index, cluster.label), context_items=taken))
    if left:
        columns.append(ChildPlan("Ungrouped", context_items=tuple(left.values())))
    return tuple(columns)


def breaks_down(before: Thread, after: Thread) -> bool:
    """Whether the thread has just begun to execute `decompose`, which spawns instead of running (section 0.10)."""
    proposal = after.proposal
    entered = after.state is State.EXECUTING and before.state is not State.EXECUTING
    return entered and proposal is not None and proposal.name == DECOMPOSE


def brood_of(thread: Thread) -> Brood:
    """The children that an approved `decompose` asks for."""
    listed = thread.proposal.parameters.get("children") if thread.proposal else None
    wanted = [as_object(child) for child in listed] if isinstance(listed, list | tuple) else []
    return Brood(tuple(ChildPlan(text(child, "title"), text(child, "description")) for child in wanted))


def about_child(refusal: Refusal, index: int) -> Refusal:
    """The refusal of one child's input, naming which child."""
    field = refusal.metadata.get("field")
    refusal.metadata["field"] = f"children[{index}]" if field is None else f"children[{index}].{field}"
    return refusal


def _label(index: int, given: str) -> str:
    label = " ".join(check_text(f"clusters[{index}].label", given, limits.TITLE_MAX).split())
    return label or "Group"


def _with_items(child: ChildPlan, given: Sequence[ContextItem]) -> ChildPlan:
    own = {item.id for item in child.context_items}
    return replace(child, context_items=(*(item for item in given if item.id not in own), *child.context_items))
