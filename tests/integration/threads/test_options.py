"""What can be picked for a thread, and what is filled in for it (golden scenario 30)."""

from __future__ import annotations

import orjson
import pytest

from services.kernel.errors import Invalid, NotFound
from tests.integration.threads.client import Client, state_name, told
from treadle.threads.v1 import catalog_service_pb2 as catalogue_pb
from treadle.threads.v1 import thread_service_pb2 as pb

TABS = {
    "type": "object",
    "properties": {
        "thread_id": {"type": "string"},
        "tab_ids": {"type": "array", "items": {"type": "integer"}},
        "color": {"type": "string", "default": "blue", "description": "Of the group."},
        "size": {"type": ["null", "integer"]},
        "shape": {"enum": ["a", "b"]},
    },
    "required": ["thread_id", "tab_ids", "color"],
    "additionalProperties": False,
}


async def register(threads: Client, name: str, schema: object, **fields: object) -> None:
    """A new action."""
    action = catalogue_pb.ActionRegistration(
        capability_name=name,
        parameters_schema_json=orjson.dumps(schema),
        **fields,  # type: ignore[arg-type]
    )
    await told(threads.catalogue.RegisterAction(catalogue_pb.RegisterActionRequest(action=action)))


async def options(threads: Client, name: str) -> pb.ListActionOptionsResponse:
    return await told(threads.people.ListActionOptions(pb.ListActionOptionsRequest(name=name)))


async def test_golden_30_universal_ones_come_first_and_runtime_parameters_are_hidden(threads: Client) -> None:
    umbrella = catalogue_pb.ActionRegistration.CARDINALITY_UMBRELLA
    await register(threads, "chrome_tab_group", TABS, category="chrome", cardinality=umbrella)
    await register(threads, "internal", {"type": "object"}, available_in=["agent_autonomous", "action_proposal"])
    item = pb.ContextItem(id="t", source="chrome_tab", payload_json=b'{"tab_id": 7}')
    thread = await threads.create(context_items=[item])
    listed = await options(threads, thread.name)
    names = [one.capability_name for one in listed.action_options]
    assert names[:3] == ["thread_defer", "thread_dismiss", "thread_rename"]
    assert "internal" not in names
    assert (listed.thread_id, listed.source) == (thread.id, "chrome_tab")
    (tabs,) = [one for one in listed.action_options if one.capability_name == "chrome_tab_group"]
    assert (tabs.label, tabs.cardinality, orjson.loads(tabs.default_params_json)) == (
        "Chrome tab group",
        "umbrella",
        {"color": "blue"},
    )
    assert sorted((one.name, one.type, one.required) for one in tabs.parameters) == [
        ("color", "string", True),
        ("shape", "string", False),
        ("size", "integer", False),
    ]
    with pytest.raises(NotFound):
        await options(threads, "threads/thr_" + "0" * 32)


async def test_golden_30_a_pick_is_bound_to_its_thread_and_null_clears_it(threads: Client) -> None:
    await register(threads, "chrome_tab_group", TABS)
    items = [
        pb.ContextItem(id=str(number), source="chrome_tab", payload_json=orjson.dumps({"tab_id": tab}))
        for number, tab in enumerate((7, True, "8", 9))
    ]
    thread = await threads.create(context_items=items)
    pick = pb.SetActionProposalRequest(
        name=thread.name,
        capability_name="chrome_tab_group",
        parameters_json=orjson.dumps({"color": "red", "thread_id": "thr_another"}),
    )
    done = await told(threads.people.SetActionProposal(pick))
    assert state_name(done.next_state) == "awaiting_confirmation"
    (action,) = (await threads.get(thread.name)).actions
    assert orjson.loads(action.parameters_json) == {"color": "red", "thread_id": thread.id, "tab_ids": [7, 9]}
    await told(threads.people.SetActionProposal(pb.SetActionProposalRequest(name=thread.name)))
    assert not (await threads.get(thread.name)).actions


async def test_what_nobody_may_pick_or_propose_is_unknown(threads: Client) -> None:
    await register(threads, "internal", {"type": "object"}, available_in=["agent_autonomous"])
    thread = await threads.create()
    with pytest.raises(Invalid) as refused:
        await told(
            threads.people.SetActionProposal(pb.SetActionProposalRequest(name=thread.name, capability_name="internal"))
        )
    assert refused.value.reason == "UNKNOWN_ACTION"
