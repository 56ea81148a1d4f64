"""The actions that this runner can execute, by name, and the check of their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from services.runner.application.ports import Action
from services.runner.domain.failure import Code, Failed


class Catalogue:
    """Finds an action for a name; its parameters must fit its schema (checked when proposed, and here again)."""

    def __init__(self, actions: Iterable[Action]) -> None:
        self._actions = {action.name: action for action in actions}
        self._validators = {
            name: Draft202012Validator(dict(action.parameters)) for name, action in self._actions.items()
        }

    def find(self, name: str, parameters: Mapping[str, Any]) -> Action:
        """The action; Failed(unknown_action) or Failed(invalid_parameters, the field) otherwise."""
        action = self._actions.get(name)
        if action is None:
            raise Failed(Code.UNKNOWN_ACTION, f"this runner has no action {name!r}")
        fault = next(iter(self._validators[name].iter_errors(dict(parameters))), None)
        if fault is not None:
            field = "/".join(str(part) for part in fault.absolute_path) or "(the object)"
            raise Failed(Code.INVALID_PARAMETERS, f"{field}: {fault.message}")
        return action
