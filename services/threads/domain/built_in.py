"""The actions that come with Treadle: universal ones and those that the runner knows (section 0.10)."""

from __future__ import annotations

from typing import Final

from services.threads.domain.canonical import JsonObject
from services.threads.domain.proposal import DECOMPOSE
from services.threads.domain.registration import Registration


def _object(required: list[str], **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_UNIVERSAL: Final = (
    Registration(
        name="thread_dismiss",
        description="Ends the thread: there is nothing to do.",
        category="thread",
        schema=_object([], reason={"type": "string", "maxLength": 4000}),
        irreversibility="medium",
        regret_potential="low",
        universal=True,
        built_in=True,
    ),
    Registration(
        name="thread_defer",
        description="Hides the thread from the inbox for a while; 24 hours unless told.",
        category="thread",
        schema=_object(
            [],
            duration_hours={"type": "number", "exclusiveMinimum": 0, "maximum": 8784, "default": 24},
            resurface_at={"type": "string", "maxLength": 40},
        ),
        irreversibility="low",
        regret_potential="low",
        universal=True,
        built_in=True,
    ),
    Registration(
        name="thread_rename",
        description="Gives the thread another title.",
        category="thread",
        schema=_object(["new_title"], new_title={"type": "string", "minLength": 1, "maxLength": 200}),
        irreversibility="low",
        regret_potential="low",
        universal=True,
        built_in=True,
    ),
)
_RUNNER: Final = (
    Registration(
        name=DECOMPOSE,
        description="Breaks the matter down: each child is worked on by itself, and this thread waits for all of them.",
        category="thread",
        schema=_object(
            ["children"],
            children={
                "type": "array",
                "minItems": 1,
                "maxItems": 100,
                "items": _object(
                    ["title"],
                    title={"type": "string", "minLength": 1, "maxLength": 200},
                    description={"type": "string", "maxLength": 4000},
                ),
            },
        ),
        irreversibility="low",
        regret_potential="low",
        built_in=True,
    ),
    Registration(
        name="file_append",
        description="Appends text to a file in the files folder.",
        category="files",
        schema=_object(
            ["path", "text"],
            path={"type": "string", "minLength": 1, "maxLength": 1024, "description": "Relative path."},
            text={"type": "string", "minLength": 1, "maxLength": 65536, "description": "What to append."},
        ),
        irreversibility="low",
        regret_potential="low",
        built_in=True,
    ),
    Registration(
        name="task_create",
        description="Adds an open task to tasks.md in the files folder.",
        category="tasks",
        schema=_object(
            ["task_text"],
            task_text={"type": "string", "minLength": 1, "maxLength": 2000, "description": "The task, one line."},
            summary={"type": "string", "maxLength": 2000, "description": "When it is done, or why."},
            project={"type": "string", "maxLength": 200, "description": "The project that it belongs to."},
            urgency={"enum": ["low", "medium", "high"], "description": "How urgent it is."},
            deadline_date={"type": "string", "maxLength": 40, "description": "When it is due, as YYYY-MM-DD."},
        ),
        irreversibility="low",
        regret_potential="low",
        built_in=True,
    ),
    Registration(
        name="http_request",
        description="Sends an HTTP request to an allowed host.",
        category="web",
        schema=_object(
            ["url"],
            method={"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], "description": "Default GET."},
            url={"type": "string", "minLength": 1, "maxLength": 2048, "description": "http or https."},
            headers={"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 50},
            body={"type": "string", "maxLength": 65536, "description": "Sent as UTF-8."},
        ),
        irreversibility="medium",
        regret_potential="medium",
        built_in=True,
    ),
    Registration(
        name="shell",
        description="Runs a shell command where the runner allows it (off by default).",
        category="system",
        schema=_object(
            ["command"],
            command={"type": "string", "minLength": 1, "maxLength": 8192},
            timeout_seconds={"type": "number", "exclusiveMinimum": 0, "maximum": 600},
        ),
        irreversibility="high",
        regret_potential="high",
        risk_amplifier=True,
        built_in=True,
    ),
)
BUILT_IN: Final = {registration.name: registration for registration in (*_UNIVERSAL, *_RUNNER)}
