"""Which contexts the gateway speaks for: the one place where a new pb2 module is added."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from google.protobuf.descriptor import Descriptor, FileDescriptor, MethodDescriptor, ServiceDescriptor

from treadle.coordination.v1 import coordination_service_pb2
from treadle.planning.v1 import planning_service_pb2
from treadle.streaming.v1 import feed_service_pb2, session_event_pb2, session_service_pb2
from treadle.threads.v1 import catalog_service_pb2, thread_service_pb2

MODULES: Final[dict[str, tuple[ModuleType, ...]]] = {
    "threads": (thread_service_pb2, catalog_service_pb2),
    "streaming": (session_service_pb2, feed_service_pb2),
    "coordination": (coordination_service_pb2,),
    "planning": (planning_service_pb2,),
}
"""Context to the modules whose services may have REST routes. Settings name a target for each context."""


def services() -> list[tuple[str, ServiceDescriptor]]:
    """Every service with the context that answers it, in the order of the protos."""
    found: list[tuple[str, ServiceDescriptor]] = []
    for context, modules in MODULES.items():
        for module in modules:
            file: FileDescriptor = module.DESCRIPTOR
            found += [(context, service) for service in file.services_by_name.values()]
    return found


def events_of(feed: MethodDescriptor) -> Descriptor:
    """The message whose oneof names the events of a feed; frames carry them as JSON."""
    of_session = feed.name == "SubscribeSession"
    events = session_event_pb2.SessionEvent if of_session else session_event_pb2.FeedEvent
    return events.DESCRIPTOR


TOLD: Final = (
    coordination_service_pb2.DESCRIPTOR.services_by_name["CoordinationService"].methods_by_name["GetInjection"],
    planning_service_pb2.DESCRIPTOR.services_by_name["PlanningService"].methods_by_name["GetPlanContext"],
)
"""What was added to the user message of a turn, in the order in which it was: the resource of agents
(gateway.mcp.context_resource)."""
