"""An agent over an OpenAI-compatible chat endpoint, streaming, through the `openai` library (design/streaming.md S.8).

Its tools are the gateway's, as functions; it opens no gates. Steering cuts the answer under way, keeps what stands of
it, and asks again with the new words. Retries are the library's alone. What an endpoint says about an error is told
nobody, our log neither: a code goes out.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import openai
from openai.types.chat import ChatCompletionChunk

from services.kernel import telemetry
from services.runner.application.agents import Agent, AgentFault, Emit
from services.runner.application.no_tools import NoTools
from services.runner.application.tools import Toolbox, Tools
from services.runner.domain.agent import (
    THINKING_LEVELS,
    AgentTask,
    GateReply,
    Outcome,
    Status,
    TurnFailure,
    TurnSettled,
    Usage,
)
from services.runner.domain.context import with_context
from services.runner.domain.reply import Reply
from services.runner.sessions.openai.answer import Answer
from services.runner.sessions.openai.calls import functions
from services.runner.sessions.openai.conversation import Conversation
from services.runner.sessions.openai.faults import is_overflow, is_timeout

_log = telemetry.get_logger("runner.openai")
_EFFORTS: Final = {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"}
_ROUNDS_MOST: Final = 32
"""Answers of one turn that may call tools; a turn that wants more is cut off."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where it answers. `silence`: seconds without a piece after which it is given up. `retries`: the library's."""

    base_url: str
    api_key: str = "none"
    model: str = ""
    """For sessions that name none."""
    silence: float = 600.0
    connect: float = 10.0
    retries: int = 2
    reasoning_effort: bool = True
    """Whether the thinking level is sent; a session's level `off` never is."""
    usage: bool = True
    """Whether the endpoint is asked to count tokens."""


class OpenAi:
    """Implements application.agents.Agents."""

    name = "openai"

    def __init__(self, endpoint: Endpoint, toolbox: Toolbox | None = None) -> None:
        self._endpoint = endpoint
        self._toolbox = toolbox or NoTools()

    def open(self, task: AgentTask, emit: Emit) -> Agent:
        """An agent with the conversation of an earlier one."""
        return OpenAiAgent(self._endpoint, task, emit, self._toolbox)


class OpenAiAgent:
    """Implements application.agents.Agent."""

    def __init__(self, endpoint: Endpoint, task: AgentTask, emit: Emit, toolbox: Toolbox) -> None:
        self._endpoint = endpoint
        self._toolbox = toolbox
        self._task = task
        self._token = task.token
        self._emit = emit
        self._reply = Reply()
        self._asked = 0
        self._numbers = count(1)
        self._usage = Usage()
        self._conversation = Conversation()
        self._running = False
        self._turn_id = ""
        self._turn: asyncio.Task[None] | None = None
        self._client: openai.AsyncOpenAI | None = None

    @property
    def usage(self) -> Usage:
        """Of the newest turn."""
        return self._usage

    async def start(self) -> None:
        """Nothing is asked of the endpoint yet. Raises AgentFault when no model is named or the state is not ours."""
        if self._task.thinking not in THINKING_LEVELS or not (self._task.model or self._endpoint.model):
            raise AgentFault(f"thinking {self._task.thinking!r}, model {self._task.model!r}")
        if self._task.state is not None:
            self._conversation.restore(self._task.state)
        endpoint = self._endpoint
        timeout = openai.Timeout(endpoint.silence, connect=endpoint.connect)
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeout=timeout, max_retries=endpoint.retries
        )

    async def prompt(self, text: str, context: str = "", turn: str = "") -> None:
        """Begins a turn."""
        self._turn_id = turn
        self._reply.begin()
        self._usage = Usage()
        self._running = True
        self._ask(with_context(text, context))

    async def steer(self, text: str) -> bool:
        """Cuts the answer under way and asks again."""
        if not self._running:
            return False
        await self._halt()
        if not self._running:  # a library has swallowed the cancel, and the turn has settled
            return False
        self._keep_answer()
        self._ask(text)
        return True

    async def abort(self) -> None:
        """At once; what stands is kept."""
        if self._running:
            await self._halt()
            await self._settle(Outcome.ABORTED)

    async def answer_gate(self, key: str, reply: GateReply) -> None:
        """It opens none."""

    async def renew(self, token: str) -> None:
        """From the next call on."""
        self._token = token

    async def state(self) -> bytes | None:
        """The conversation."""
        return self._conversation.state()

    async def stop(self) -> None:
        """Without a word."""
        await self._halt()
        if self._client is not None:
            await self._client.close()

    def _ask(self, text: str) -> None:
        self._conversation.asked(text)
        self._asked += 1
        self._turn = asyncio.create_task(self._run(), name="openai.turn")

    async def _halt(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)

    async def _run(self) -> None:
        end: Outcome | TurnFailure
        try:
            async with self._toolbox.open(lambda: self._token, self._turn_id) as tools:
                end = await self._converse(tools)
        except openai.APITimeoutError:
            end = TurnFailure.PROVIDER_TIMEOUT
        except openai.APIStatusError as fault:
            _log.warning("openai.refused", session=self._task.session, status=fault.status_code)
            end = TurnFailure.PROVIDER_ERROR
        except Exception as fault:
            # A stream that breaks off raises what the transport raises; its kind is told, its words are not.
            _log.warning("openai.broken", session=self._task.session, fault=type(fault).__name__)
            end = TurnFailure.PROVIDER_TIMEOUT if is_timeout(fault) else TurnFailure.PROVIDER_ERROR
        await self._settle(end)

    async def _converse(self, tools: Tools) -> Outcome | TurnFailure:
        """Answer by answer, until one calls no tool."""
        offers = functions(await tools.offers())
        for _ in range(_ROUNDS_MOST):
            answer = await self._answered(offers)
            calls = answer.calls
            if answer.end is not Outcome.OK or not calls:
                return answer.end
            try:
                await calls.make(tools, self._emit, self._numbers)
            finally:
                self._conversation.called(self._reply.of_message(self._asked), calls.made(self._numbers))
                self._asked += 1
        return Outcome.TRUNCATED

    async def _answered(self, offers: list[dict[str, Any]]) -> Answer:
        """One answer, as it comes."""
        names = frozenset(offer["function"]["name"] for offer in offers)
        answer = Answer(self._reply, self._asked, names)
        try:
            async with await self._stream(offers) as stream:
                async for chunk in stream:
                    for event in answer.hear(chunk):
                        await self._emit(event)
        finally:
            self._usage += answer.usage
        return answer

    async def _stream(self, offers: list[dict[str, Any]]) -> openai.AsyncStream[ChatCompletionChunk]:
        """Asks. A conversation that the model cannot hold any more goes on without its oldest part, and says so."""
        assert self._client is not None
        more: dict[str, Any] = {}
        if self._endpoint.reasoning_effort and self._task.thinking in _EFFORTS:
            more["reasoning_effort"] = _EFFORTS[self._task.thinking]
        if offers:
            more["tools"] = offers
        if self._endpoint.usage:
            more["stream_options"] = {"include_usage": True}
        model = self._task.model or self._endpoint.model
        while True:
            messages: Any = self._conversation.messages
            asked = self._client.chat.completions.create(model=model, messages=messages, stream=True, **more)
            try:
                stream: openai.AsyncStream[ChatCompletionChunk] = await asked
                return stream
            except openai.APIStatusError as fault:
                if not is_overflow(fault) or not self._conversation.shorten():
                    raise
                _log.info("openai.shortened", session=self._task.session, messages=len(self._conversation.messages))
            await self._emit(Status("compacting"))
            await self._emit(Status("compacted"))

    async def _settle(self, end: Outcome | TurnFailure) -> None:
        self._running = False
        lost = self._reply.halves()
        self._keep_answer()
        for event in lost:
            await self._emit(event)
        await self._emit(TurnSettled(end, self._reply.standing, self._usage))

    def _keep_answer(self) -> None:
        """What stands of the newest answer is part of the conversation, also when it was cut."""
        self._conversation.answered(self._reply.of_message(self._asked))
