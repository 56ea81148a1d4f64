"""The runner's composition root: names every concrete class, reads top to bottom."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from datetime import timedelta
from typing import Final

from services.kernel.clock import SystemClock
from services.kernel.grpc_client import Authorize, open_channel
from services.kernel.ids import new_id
from services.kernel.lifecycle import Bound, Lifecycle
from services.kernel.principal import Authenticator, Principal
from services.runner.actions.catalogue import Catalogue
from services.runner.actions.file_append import FileAppend
from services.runner.actions.files_folder import FilesFolder
from services.runner.actions.hosts import AllowedHosts
from services.runner.actions.http_request import HttpRequest
from services.runner.actions.shell import Shell
from services.runner.actions.task_create import TaskCreate
from services.runner.adapters.contexts import CoordinationContext, PlanningContext
from services.runner.adapters.coordination_jobs import CoordinationJobs
from services.runner.adapters.payload import JsonCodec
from services.runner.adapters.streaming_jobs import StreamingJobs
from services.runner.adapters.streaming_sessions import StreamingSessions
from services.runner.adapters.threads_jobs import ThreadsJobs
from services.runner.adapters.worker_sessions import WorkerStreams
from services.runner.application.agents import Agents
from services.runner.application.claiming import Claiming
from services.runner.application.job_run import JobRun, Timing
from services.runner.application.no_tools import NoTools
from services.runner.application.ports import LeasedJob, Provider
from services.runner.application.presence import say_present
from services.runner.application.sessions.context import Contexts, ContextSource
from services.runner.application.sessions.holding import Holding
from services.runner.application.tools import Toolbox
from services.runner.application.work import Work
from services.runner.application.workers.run import WorkerRun
from services.runner.cleanup.file_line import FileLine
from services.runner.cleanup.task_line import TaskLine
from services.runner.providers.scripted import Scripted
from services.runner.sessions.pi.adapter import Pi, sweep_strays
from services.runner.sessions.pi.agent import PiTiming
from services.runner.sessions.pi.launch import PiInstallation
from services.runner.sessions.scripted.agent import Scripted as ScriptedAgents
from services.runner.settings import RunnerSettings

_TOKEN_LIFETIME: Final = timedelta(minutes=5)


async def build(settings: RunnerSettings, life: Lifecycle) -> Bound:
    """A runner for threads, sessions and workers. It listens nowhere: its address is the service that it works for."""
    runner_id = settings.runner_id or _own_name()
    timing = Timing(
        heartbeat=settings.heartbeat_seconds,
        lease=settings.lease_seconds,
        stop=settings.drain_seconds / 4,
        report=settings.drain_seconds * 2,
    )
    claimings = [
        _work_for_threads(settings, life, runner_id, timing),
        *_hold_sessions(settings, life, runner_id, timing),
        *_run_workers(settings, life, runner_id, timing),
    ]

    async def drain() -> None:
        await asyncio.gather(*(one.drain(settings.drain_seconds / 2) for one in claimings))

    life.on_drain(drain)
    for one in claimings:
        life.spawn(f"claiming_{one.what}", one.run)
    return Bound("runner", settings.threads_target)


def _work_for_threads(settings: RunnerSettings, life: Lifecycle, runner_id: str, timing: Timing) -> Claiming:
    """Guesses, actions and clean-ups of the threads service."""
    channel = open_channel(settings.threads_target, _authorize(settings, runner_id))
    life.push(channel.close)
    jobs = ThreadsJobs(channel, runner_id)
    folder = FilesFolder(settings.files_folder)
    actions = Catalogue(
        [
            FileAppend(folder),
            TaskCreate(folder),
            HttpRequest(AllowedHosts.parse(settings.http_allow), settings.http_timeout_seconds),
            Shell(settings.files_folder, enabled=settings.shell, timeout=settings.shell_timeout_seconds),
        ]
    )
    work = Work(JsonCodec(), _provider(settings), actions, [FileLine(folder), TaskLine(folder)])

    def open_run(job: LeasedJob) -> JobRun:
        return JobRun(jobs, work, job, timing)

    most, wait = settings.runner_concurrency, settings.runner_wait_seconds
    return Claiming("threads", jobs, open_run, new_id, most=most, wait=wait)


def _hold_sessions(settings: RunnerSettings, life: Lifecycle, runner_id: str, timing: Timing) -> list[Claiming]:
    """Sessions of the streaming service, where this runner has an agent to offer."""
    agents = _agents(settings, _toolbox(settings))
    if not settings.streaming_target or not agents:
        return []
    if any(adapter.name == Pi.name for adapter in agents):
        sweep_strays()
    channel = open_channel(settings.streaming_target, _authorize(settings, runner_id))
    life.push(channel.close)
    jobs = StreamingJobs(channel, runner_id, [adapter.name for adapter in agents])
    sessions = StreamingSessions(channel, runner_id)
    contexts = Contexts(_contexts(settings, life))

    def open_run(job: LeasedJob) -> JobRun:
        return JobRun(jobs, Holding(sessions, agents, contexts, settings.agent_token_seconds), job, timing)

    life.spawn("presence", lambda: say_present(jobs, new_id, settings.heartbeat_seconds * 2))
    most, wait = settings.session_concurrency, settings.runner_wait_seconds
    return [Claiming("sessions", jobs, open_run, new_id, most=most, wait=wait)]


def _contexts(settings: RunnerSettings, life: Lifecycle) -> list[ContextSource]:
    """Who is asked what an agent is to know; each session asks for itself."""
    sources: list[ContextSource] = []
    if settings.coordination_target:
        coordination = open_channel(settings.coordination_target)
        life.push(coordination.close)
        sources.append(CoordinationContext(coordination))
    if settings.planning_target:
        planning = open_channel(settings.planning_target)
        life.push(planning.close)
        sources.append(PlanningContext(planning))
    return sources


def _run_workers(settings: RunnerSettings, life: Lifecycle, runner_id: str, timing: Timing) -> list[Claiming]:
    """Workers of the coordination service, in sessions of the streaming service. Their limit is their own: a worker
    needs a place for its session, and must not take it."""
    if not settings.coordination_target or not settings.streaming_target:
        return []
    coordination = open_channel(settings.coordination_target, _authorize(settings, runner_id))
    life.push(coordination.close)
    streaming = open_channel(settings.streaming_target)
    life.push(streaming.close)
    jobs = CoordinationJobs(coordination, runner_id)
    sessions = WorkerStreams(streaming)

    def open_run(job: LeasedJob) -> WorkerRun:
        return WorkerRun(jobs, sessions, job, timing)

    most, wait = settings.worker_concurrency, settings.runner_wait_seconds
    return [Claiming("workers", jobs, open_run, new_id, most=most, wait=wait)]


def _toolbox(settings: RunnerSettings) -> Toolbox:
    """The gateway's tools, where it is known."""
    if not settings.gateway_url:
        return NoTools()
    # Imported late, as the libraries of the agents below.
    from services.runner.adapters.mcp_tools import McpToolbox

    return McpToolbox(settings.gateway_url)


def _agents(settings: RunnerSettings, toolbox: Toolbox) -> list[Agents]:
    """Those that are enabled and there."""
    agents: list[Agents] = []
    if "scripted" in settings.session_adapters:
        agents.append(ScriptedAgents(settings.scripted_pace_ms / 1000, toolbox))
    if "openai" in settings.session_adapters and settings.openai_base_url:
        # Imported late: the library takes a second to load, and most runners do not need it.
        from services.runner.sessions.openai.agent import Endpoint, OpenAi

        endpoint = Endpoint(
            settings.openai_base_url,
            settings.openai_api_key.get_secret_value(),
            settings.openai_model,
            silence=settings.openai_timeout_seconds,
            reasoning_effort=settings.openai_reasoning_effort,
            usage=settings.openai_usage,
        )
        agents.append(OpenAi(endpoint, toolbox))
    if "pi" in settings.session_adapters and settings.pi_command and shutil.which(settings.pi_command[0]):
        installation = PiInstallation(
            settings.pi_command, settings.files_folder, settings.pi_environment, settings.gateway_url
        )
        agents.append(Pi(installation, PiTiming(silence=settings.pi_silence_seconds)))
    return agents


def _own_name() -> str:
    """Host name and process id, in the characters that a runner's name may have."""
    host = "".join(c for c in platform.node() if c.isascii() and c.isprintable() and c != " ")
    return f"{host[:96] or 'runner'}-{os.getpid()}"


def _provider(settings: RunnerSettings) -> Provider:
    match settings.provider:
        case "scripted":
            return Scripted()


def _authorize(settings: RunnerSettings, runner_id: str) -> Authorize | None:
    """With a secret configured the runner shows a short-lived token of its own on every call."""
    if settings.auth_secret is None:
        return None
    authenticator = Authenticator(settings.secret(), SystemClock())
    runner = Principal("default", f"runner:{runner_id}", "service", frozenset({"runner"}))

    def bearer() -> str | None:
        return f"Bearer {authenticator.mint(runner, _TOKEN_LIFETIME)}"

    return bearer
