"""Writes src/gen/events.ts: the names that the console and the services must agree on, read from the protos.

Run `python gateway/console/scripts/gen_events.py` after a change of the protos; `--check` only compares (exit 1 when
stale). Needs the generated stubs (`make protos`). Knows descriptors, and nothing of the console.
"""

from __future__ import annotations

import sys
from pathlib import Path

from google.protobuf.descriptor import Descriptor, EnumDescriptor

TARGET = Path(__file__).resolve().parents[1] / "src" / "gen" / "events.ts"
HEADER = "// Generated from the protos by scripts/gen_events.py. Do not edit.\n"


def oneof_names(message: Descriptor) -> list[str]:
    """SSE event names: the field names of the message's only oneof, in declaration order."""
    return [field.name for field in message.oneofs[0].fields]


def enum_names(enum: EnumDescriptor) -> list[str]:
    """REST values of an enum: lower case, without the enum's prefix and without the unspecified one."""
    unspecified = enum.values_by_number[0].name
    prefix = unspecified.removesuffix("UNSPECIFIED")
    return [value.name.removeprefix(prefix).lower() for value in enum.values if value.number != 0]


def constant(name: str, kind: str, values: list[str]) -> str:
    """One list and the union type of its members."""
    lines = "".join(f'  "{value}",\n' for value in values)
    return f"\nexport const {name} = [\n{lines}] as const;\nexport type {kind} = (typeof {name})[number];\n"


def render() -> str:
    """The whole file."""
    from treadle.streaming.v1 import session_event_pb2
    from treadle.threads.v1 import thread_event_pb2, thread_service_pb2

    thread = thread_service_pb2.Thread.DESCRIPTOR
    return HEADER + "".join(
        (
            constant("SESSION_EVENTS", "SessionEventName", oneof_names(session_event_pb2.SessionEvent.DESCRIPTOR)),
            constant("FEED_EVENTS", "FeedEventName", oneof_names(session_event_pb2.FeedEvent.DESCRIPTOR)),
            constant("THREAD_STATES", "ThreadState", enum_names(thread.enum_types_by_name["State"])),
            constant("CARD_KINDS", "CardKind", enum_names(thread.enum_types_by_name["CardKind"])),
            constant("RELATIONSHIPS", "Relationship", enum_names(thread.enum_types_by_name["Relationship"])),
            constant("DISPLAY_MODES", "DisplayMode", enum_names(thread.enum_types_by_name["DisplayMode"])),
            constant("ACTOR_KINDS", "ActorKind", enum_names(thread_event_pb2.Actor.Kind.DESCRIPTOR)),
        )
    )


def main(argv: list[str]) -> int:
    """0 = written or up to date, 1 = stale (with --check)."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "protos" / "gen"))
    text = render()
    if "--check" in argv:
        return 0 if TARGET.exists() and TARGET.read_text() == text else 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
