"""`treadle serve <service>`: one deployable alone in this process, against the URLs of the environment."""

from __future__ import annotations

import importlib
from typing import Final

from services.kernel.lifecycle import serve

# Deployable → package and settings class. Imported late, so that an image with one service runs it.
DEPLOYABLES: Final = {
    "threads": ("services.threads", "ThreadsSettings"),
    "coordination": ("services.coordination", "CoordinationSettings"),
    "planning": ("services.planning", "PlanningSettings"),
    "streaming": ("services.streaming", "StreamingSettings"),
    "runner": ("services.runner", "RunnerSettings"),
    "gateway": ("gateway", "GatewaySettings"),
}


def serve_alone(name: str) -> None:
    """Runs it until SIGTERM; exits 2 where the settings are wrong."""
    package, settings = DEPLOYABLES[name]
    kind = getattr(importlib.import_module(f"{package}.settings"), settings)
    serve(name, kind, importlib.import_module(f"{package}.main").build)
