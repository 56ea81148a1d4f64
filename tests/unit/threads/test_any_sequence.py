"""Any sequence of commands: dense numbers, a log that rebuilds the thread, absorbing ends, silent refusals."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from services.kernel.errors import Refusal
from services.threads.adapters import thread_doc
from services.threads.domain import commands as c
from services.threads.domain.autonomy import PRESETS
from services.threads.domain.effects import effects
from services.threads.domain.evolve import rebuild
from services.threads.domain.kinds import Kind
from services.threads.domain.proposal import ActionDraft
from services.threads.domain.states import TERMINAL, State
from services.threads.domain.timing import Timing
from tests.unit.threads.stage import IDEMPOTENT, REVIEWED, TASK, Stage, choice, task_draft

FIXED: list[c.Command] = [
    c.BeginInference(),
    c.ClaimInference(),
    c.CompleteInference({"intent": "i", "context": "c"}, task_draft(), 0.9, cost_usd=0.1),
    c.CompleteInference({"intent": "i", "context": "c"}, task_draft(REVIEWED), 0.2),
    c.CompleteInference({"intent": "i", "context": "c"}, task_draft(IDEMPOTENT), 0.9),
    c.CompleteInference({}, ActionDraft(), 0.9),
    c.CompleteInference({"intent": "i", "context": "c"}, ActionDraft("clarification", blocked_on="?"), 0.9),
    c.FailInference("down", retry=True),
    c.FailInference("down"),
    c.LoseInference(True),
    c.LoseInference(False),
    c.RefuseInference("no"),
    c.Accept(),
    c.Edit(text="else"),
    c.Edit(action=choice(text="else")),
    c.Provide(text="so"),
    c.Provide(action=choice()),
    c.Reject(),
    c.Redirect(feedback="no"),
    c.RedirectAction(feedback="no"),
    c.PickAction(choice(TASK)),
    c.PickAction(None),
    c.AcceptReview(),
    c.HandOff("bob"),
    c.Rename("New"),
    c.FinishExecution(True),
    c.FinishExecution(False, "x"),
    c.LoseExecution(),
    c.LoseExecution(parked=True),
    c.RecordLateResult(True),
    c.Timeout(),
    c.RequestCleanup(),
    c.FinishCleanup(True),
    c.FinishCleanup(False),
    c.RetryCleanup(),
    c.AcceptCleanupFailure(),
    c.Dismiss(),
    c.ForceClose(),
    c.SpawnChildren(("thr_2", "thr_3")),
    c.SettleChildren(False),
    c.SettleChildren(True),
]
CITING = ["accept", "start", "later"]


@settings(max_examples=200, deadline=None)
@given(
    preset=st.sampled_from(sorted(PRESETS)),
    steps=st.lists(st.one_of(st.sampled_from(FIXED), st.sampled_from(CITING)), max_size=40),
)
def test_any_sequence_keeps_the_invariants(preset: str, steps: list[c.Command | str]) -> None:
    stage = Stage().create(PRESETS[preset])
    for step in steps:
        before, count = stage.it, len(stage.events)
        try:
            new = stage.do(_command(stage, step))
        except Refusal:
            assert stage.it == before
            assert len(stage.events) == count
            continue
        if before.state in TERMINAL:
            assert stage.it.state is before.state
        effects(new, stage.it, Timing())
    assert [event.seq for event in stage.events] == list(range(1, len(stage.events) + 1))
    assert rebuild(stage.events) == stage.it
    assert thread_doc.load(thread_doc.dump(stage.it)) == stage.it
    approved = [event for event in stage.events if event.data.get("trigger") == "execute"]
    started = [event for event in stage.events if event.kind is Kind.EXECUTION_STARTED]
    assert all(event.data["decision"] for event in approved)
    if stage.it.state is State.EXECUTING:
        assert stage.it.proposal is not None
    advanced = [event for event in stage.events if event.data.get("to") == State.EXECUTING]
    plain = {event.data["proposal_id"] for event in started if event.data["capability_name"] != IDEMPOTENT.name}
    assert len([e for e in started if e.data["proposal_id"] in plain]) <= len(advanced)


def _command(stage: Stage, step: c.Command | str) -> c.Command:
    """Steps that depend on what stands now."""
    if not isinstance(step, str):
        return step
    if step == "later":
        return c.Later(stage.now + timedelta(hours=2))
    proposal = stage.it.proposal
    cited = c.Citation(proposal.proposal_id, proposal.digest) if proposal else c.Citation("prp_0", "0")
    return c.Accept(cited) if step == "accept" else c.StartExecution(cited.proposal_id, cited.digest)
