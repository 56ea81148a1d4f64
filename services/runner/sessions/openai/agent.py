"""An agent over an OpenAI-compatible chat endpoint, streaming, through the `openai` library (design/streaming.md S.8).

It has no tools and opens no gates. Steering cuts the answer under way, keeps what stands of it, and asks again with the
new words. Retries are the library's alone. What an endpoint says about an error stays in our log's reason, a code goes
out.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

import openai
import orjson
from openai.types.chat import ChatCompletionChunk

from services.kernel import telemetry
from services.runner.application.agents import Agent, AgentFault, Emit
from services.runner.domain.agent import (
    STATE_BYTES,
    THINKING_LEVELS,
    AgentTask,
    GateReply,
    Outcome,
    TurnFailure,
    TurnSettled,
)
from services.runner.domain.reply import Reply

_log = telemetry.get_logger("runner.openai")
_EFFORTS: Final = {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"}
_REASONING: Final = ("reasoning_content", "reasoning")
_STATE_MOST: Final = STATE_BYTES - 64 * 1024


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


class OpenAi:
    """Implements application.agents.Agents."""

    name = "openai"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def open(self, task: AgentTask, emit: Emit) -> Agent:
        """An agent with the conversation of an earlier one."""
        return OpenAiAgent(self._endpoint, task, emit)


class OpenAiAgent:
    """Implements application.agents.Agent."""

    def __init__(self, endpoint: Endpoint, task: AgentTask, emit: Emit) -> None:
        self._endpoint = endpoint
        self._task = task
        self._emit = emit
        self._reply = Reply()
        self._asked = 0
        self._messages: list[dict[str, str]] = []
        self._running = False
        self._turn: asyncio.Task[None] | None = None
        self._client: openai.AsyncOpenAI | None = None

    async def start(self) -> None:
        """Nothing is asked of the endpoint yet. Raises AgentFault when no model is named or the state is not ours."""
        if self._task.thinking not in THINKING_LEVELS or not (self._task.model or self._endpoint.model):
            raise AgentFault(f"thinking {self._task.thinking!r}, model {self._task.model!r}")
        if self._task.state is not None:
            self._messages = _messages(self._task.state)
        endpoint = self._endpoint
        timeout = openai.Timeout(endpoint.silence, connect=endpoint.connect)
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeout=timeout, max_retries=endpoint.retries
        )

    async def prompt(self, text: str) -> None:
        """Begins a turn."""
        self._reply.begin()
        self._running = True
        self._ask(text)

    async def steer(self, text: str) -> None:
        """Cuts the answer under way and asks again."""
        if not self._running:
            await self.prompt(text)
            return
        await self._halt()
        self._keep_answer()
        self._ask(text)

    async def abort(self) -> None:
        """At once; what stands is kept."""
        if self._running:
            await self._halt()
            await self._settle(Outcome.ABORTED)

    async def answer_gate(self, key: str, reply: GateReply) -> None:
        """It opens none."""

    async def state(self) -> bytes | None:
        """The conversation; its oldest messages go first when it is too large."""
        kept = list(self._messages)
        while kept and len(state := orjson.dumps({"messages": kept})) > _STATE_MOST:
            del kept[: max(1, len(kept) // 8)]
        return state if kept else None

    async def stop(self) -> None:
        """Without a word."""
        await self._halt()
        if self._client is not None:
            await self._client.close()

    def _ask(self, text: str) -> None:
        self._messages.append({"role": "user", "content": text})
        self._asked += 1
        self._turn = asyncio.create_task(self._run(), name="openai.turn")

    async def _halt(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)

    async def _run(self) -> None:
        end: Outcome | TurnFailure
        try:
            end = await self._stream()
        except openai.APITimeoutError:
            end = TurnFailure.PROVIDER_TIMEOUT
        except openai.APIStatusError as fault:
            _log.warning("openai.refused", session=self._task.session, status=fault.status_code)
            end = TurnFailure.PROVIDER_ERROR
        except Exception as fault:
            # A stream that breaks off raises what the transport raises; its kind is told, its words are not.
            _log.warning("openai.broken", session=self._task.session, fault=type(fault).__name__)
            end = TurnFailure.PROVIDER_TIMEOUT if _is_timeout(fault) else TurnFailure.PROVIDER_ERROR
        await self._settle(end)

    async def _stream(self) -> Outcome | TurnFailure:
        """One answer. A stream that ends without saying why was cut."""
        assert self._client is not None
        more: dict[str, Any] = {}
        if self._endpoint.reasoning_effort and self._task.thinking in _EFFORTS:
            more["reasoning_effort"] = _EFFORTS[self._task.thinking]
        messages: Any = self._messages
        model = self._task.model or self._endpoint.model
        reason: str | None = None
        stream = await self._client.chat.completions.create(model=model, messages=messages, stream=True, **more)
        async with stream:
            async for chunk in stream:
                reason = await self._hear(chunk) or reason
        match reason:
            case None:
                return TurnFailure.PROVIDER_ERROR
            case "length" | "content_filter":
                return Outcome.TRUNCATED
            case _:
                return Outcome.OK

    async def _hear(self, chunk: ChatCompletionChunk) -> str | None:
        """Emits the chunk's pieces; answers why the stream ends, if it says so."""
        if not chunk.choices:
            return None
        choice = chunk.choices[0]
        said = choice.delta.model_dump() if choice.delta is not None else {}
        for name in _REASONING:
            if isinstance(thought := said.get(name), str) and thought:
                for event in self._reply.thinking((self._asked, 0), thought):
                    await self._emit(event)
                break
        if isinstance(text := said.get("content"), str):
            for event in self._reply.text((self._asked, 1), text):
                await self._emit(event)
        return choice.finish_reason

    async def _settle(self, end: Outcome | TurnFailure) -> None:
        self._running = False
        self._keep_answer()
        await self._emit(TurnSettled(end, self._reply.standing))

    def _keep_answer(self) -> None:
        """What stands of the newest answer is part of the conversation, also when it was cut."""
        if answer := self._reply.of_message(self._asked):
            self._messages.append({"role": "assistant", "content": answer})


def _is_timeout(fault: BaseException) -> bool:
    """The library lets a timeout in mid-stream through as the transport raises it."""
    return isinstance(fault, TimeoutError) or "Timeout" in type(fault).__name__


def _messages(state: bytes) -> list[dict[str, str]]:
    try:
        return [{"role": str(m["role"]), "content": str(m["content"])} for m in orjson.loads(state)["messages"]]
    except (orjson.JSONDecodeError, KeyError, TypeError) as fault:
        raise AgentFault(f"the state cannot be read: {fault!r}") from fault
