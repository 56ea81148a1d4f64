"""What a worker runs on: its spec, the coordinator's policy, the coordinator's own, in this order."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from services.coordination.domain.running_on import RunsOn, checked, resolved
from services.coordination.domain.worker import Coordinator
from services.kernel.errors import Invalid

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWN = RunsOn("pi", "anthropic", "opus", "high")


def coordinator(adapter: str = "", provider: str = "", model: str = "") -> Coordinator:
    return Coordinator("default", "ses_a", True, NOW, NOW, adapter=adapter, provider=provider, model=model)


def test_nothing_said_means_the_coordinators_own() -> None:
    assert resolved(RunsOn(), coordinator(), OWN, "scripted") == OWN


def test_the_policy_comes_before_the_own_and_the_spec_before_the_policy() -> None:
    policy = coordinator("openai", "vllm", "qwen")
    assert resolved(RunsOn(), policy, OWN, "scripted") == RunsOn("openai", "vllm", "qwen", "high")
    said = RunsOn("pi", "google", "gemini")
    assert resolved(said, policy, OWN, "scripted") == RunsOn("pi", "google", "gemini", "high")


def test_another_adapter_does_not_inherit_a_provider_that_means_nothing_to_it() -> None:
    assert resolved(RunsOn("scripted"), coordinator(), OWN, "x") == RunsOn("scripted", "", "", "high")


def test_an_outside_coordinators_workers_run_on_the_settings_adapter() -> None:
    outside = RunsOn("external", "", "", "medium")
    assert resolved(RunsOn(), coordinator(), outside, "scripted").adapter == "scripted"
    assert resolved(RunsOn(), coordinator("pi"), outside, "scripted").adapter == "pi"


@pytest.mark.parametrize(
    ("said", "field"),
    [
        (RunsOn("A B"), "adapter"),
        (RunsOn("a" * 64), "adapter"),
        (RunsOn("external"), "adapter"),
        (RunsOn("pi", "p q"), "provider"),
        (RunsOn("pi", "p" * 129), "provider"),
        (RunsOn("pi", "", "m" * 129), "model"),
        (RunsOn("pi", "", "m\n"), "model"),
    ],
)
def test_what_is_malformed_is_refused_by_its_field(said: RunsOn, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked(said, "policy.")
    assert refused.value.metadata["field"] == f"policy.{field}"


def test_what_is_well_formed_passes() -> None:
    assert checked(OWN) is OWN
    assert checked(RunsOn()) == RunsOn()
