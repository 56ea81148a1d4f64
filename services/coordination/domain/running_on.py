"""What a worker runs on: its spec, else the coordinator's policy, else the coordinator's own (C.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from services.coordination.domain.worker import Coordinator
from services.kernel.errors import Invalid

EXTERNAL: Final = "external"
"""Sessions that an outside agent drives: no runner can work in one."""
_ADAPTER: Final = re.compile(r"[a-z0-9_-]{1,63}")
_PROVIDER: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_MODEL_MOST: Final = 128


@dataclass(frozen=True, slots=True)
class RunsOn:
    """Adapter, provider, model and thinking; empty: not said."""

    adapter: str = ""
    provider: str = ""
    model: str = ""
    thinking: str = ""


def checked(said: RunsOn, prefix: str = "") -> RunsOn:
    """What a caller said, or Invalid with the field (after `prefix`)."""
    if said.adapter and _ADAPTER.fullmatch(said.adapter) is None:
        raise _invalid(f"{prefix}adapter", "must match [a-z0-9_-]{1,63}")
    if said.adapter == EXTERNAL:
        raise _invalid(f"{prefix}adapter", "external is driven from outside: register such a worker instead")
    if said.provider and _PROVIDER.fullmatch(said.provider) is None:
        raise _invalid(f"{prefix}provider", "must match [A-Za-z0-9_.:-]{1,128}")
    if len(said.model) > _MODEL_MOST or not said.model.isprintable():
        raise _invalid(f"{prefix}model", f"must be at most {_MODEL_MOST} printable characters")
    return said


def resolved(said: RunsOn, coordinator: Coordinator, own: RunsOn, default_adapter: str) -> RunsOn:
    """`own`: what the coordinator's session runs on. Its provider and model mean nothing to another adapter, so they
    are taken over with its adapter only; `default_adapter` stands in for an outside one."""
    adapter = said.adapter or coordinator.adapter or (default_adapter if own.adapter == EXTERNAL else own.adapter)
    inherited = own if own.adapter == adapter else RunsOn()
    return RunsOn(
        adapter,
        said.provider or coordinator.provider or inherited.provider,
        said.model or coordinator.model or inherited.model,
        own.thinking,
    )


def _invalid(field: str, must: str) -> Invalid:
    return Invalid("INVALID_ARGUMENT", f"{field} {must}", field=field)
