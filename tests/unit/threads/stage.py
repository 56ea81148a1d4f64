"""A stage for threads in unit tests: a person, a runner, a clock, and every state reached by commands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from services.threads.domain import commands as c
from services.threads.domain.autonomy import Policy
from services.threads.domain.decide import decide
from services.threads.domain.events import Actor, ActorKind, Event
from services.threads.domain.evolve import evolve
from services.threads.domain.proposal import ActionChoice, ActionDraft, RegisteredAction
from services.threads.domain.states import State
from services.threads.domain.thread import Thread

USER = Actor(ActorKind.USER, "ada")
RUNNER = Actor(ActorKind.SERVICE, "runner-1")
START = datetime(2026, 1, 1, tzinfo=UTC)
TASK = RegisteredAction("task_create", irreversibility="low", regret_potential="low")
REVIEWED = replace(TASK, name="http_request", requires_post_review=True)
IDEMPOTENT = replace(TASK, name="file_append", idempotent=True)


def task_draft(action: RegisteredAction = TASK, **parameters: str) -> ActionDraft:
    """An inferred standard action."""
    return ActionDraft(kind="standard", name=action.name, parameters=parameters or {"text": "call"}, action=action)


def choice(action: RegisteredAction = TASK, **parameters: str) -> ActionChoice:
    """An action as a person gives it."""
    return ActionChoice(action, parameters or {"text": "call"})


@dataclass
class Stage:
    """One thread under command; every event is kept, time passes a second a command."""

    thread: Thread | None = None
    events: list[Event] = field(default_factory=list)
    now: datetime = START
    made: int = 0

    def do(self, command: c.Command, actor: Actor = USER, etag: str | None = None) -> tuple[Event, ...]:
        """Decide and evolve; a refusal leaves everything as it was."""
        self.now += timedelta(seconds=1)
        self.made += 1
        new = decide(self.thread, command, c.Stamp(actor, self.now, f"prp_{self.made}", etag))
        for event in new:
            self.thread = evolve(self.thread, event)
        self.events.extend(new)
        return new

    def create(self, policy: Policy | None = None, *, begin: bool = True) -> Stage:
        """A new thread."""
        self.do(c.CreateThread("thr_1", "Call the plumber", autonomy=policy or Policy(), begin=begin))
        return self

    def infer(self, draft: ActionDraft | None = None, *, confidence: float | None = 0.9) -> Stage:
        """A runner claims and completes the inference that is due."""
        self.do(c.ClaimInference(), RUNNER)
        payload = {"intent": "get the tap fixed", "context": "a plumber is known"}
        self.do(c.CompleteInference(payload, draft or task_draft(), confidence), RUNNER)
        return self

    def to_gate(self, draft: ActionDraft | None = None) -> Stage:
        """To awaiting_confirmation, confirming on the way."""
        self.infer().do(c.Accept())
        self.infer().do(c.Accept())
        return self.infer(draft)

    def approve(self) -> Stage:
        """Approve what stands."""
        self.do(c.Accept(self.cited))
        return self

    def execute(self, *, success: bool = True) -> Stage:
        """A runner executes."""
        self.do(c.StartExecution(self.cited.proposal_id, self.cited.digest), RUNNER)
        self.do(c.FinishExecution(success, "" if success else "boom"), RUNNER)
        return self

    @property
    def it(self) -> Thread:
        """The thread, which exists."""
        assert self.thread is not None
        return self.thread

    @property
    def cited(self) -> c.Citation:
        """The standing proposal as a reader would cite it."""
        assert self.it.proposal is not None
        return c.Citation(self.it.proposal.proposal_id, self.it.proposal.digest)


def reach(state: State) -> Stage:
    """A fresh thread brought into `state` by commands alone."""
    stage = Stage().create(begin=state is not State.PROPOSED)
    claim, fail = c.ClaimInference(), c.FailInference("model_down")
    match state:
        case State.PROPOSED | State.AWAITING_INFERENCE:
            pass
        case State.INFERRING_INTENT:
            stage.do(claim)
        case State.AWAITING_INTENT_CONFIRMATION:
            stage.infer()
        case State.AWAITING_INTENT_CLARIFICATION:
            stage.do(claim)
            stage.do(fail)
        case State.INFERRING_CONTEXT:
            stage.infer().do(c.Accept())
            stage.do(claim)
        case State.AWAITING_CONTEXT_CONFIRMATION:
            stage.infer().do(c.Accept())
            stage.infer()
        case State.AWAITING_CONTEXT_CLARIFICATION:
            stage = reach(State.INFERRING_CONTEXT)
            stage.do(fail)
        case State.INFERRING_ACTION:
            stage = reach(State.AWAITING_CONTEXT_CONFIRMATION)
            stage.do(c.Accept())
            stage.do(claim)
        case State.AWAITING_ACTION_CLARIFICATION:
            stage = reach(State.INFERRING_ACTION)
            stage.do(fail)
        case State.AWAITING_CONFIRMATION:
            stage.to_gate()
        case State.EXECUTING:
            stage.to_gate().approve()
        case State.AWAITING_REVIEW:
            stage.to_gate(task_draft(REVIEWED)).approve().execute()
        case State.AWAITING_REDIRECT:
            stage.to_gate().approve().execute(success=False)
        case State.MONITORING:
            stage.do(c.SpawnChildren(("thr_2",)))
        case State.CLEANING_UP:
            stage.infer().do(c.RequestCleanup())
        case State.DONE_CLEANUP_UNSUCCESSFUL:
            stage = reach(State.CLEANING_UP)
            stage.do(c.FinishCleanup(success=False, code="locked"))
        case State.DONE_CLEANUP_SUCCESSFUL:
            stage = reach(State.CLEANING_UP)
            stage.do(c.FinishCleanup(success=True))
        case State.DONE:
            stage.to_gate().approve().execute()
        case State.DISMISSED:
            stage.do(c.Dismiss())
        case State.HANDED_OFF:
            stage.to_gate().do(c.HandOff("the landlord"))
    assert stage.it.state is state
    return stage
