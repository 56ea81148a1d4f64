"""`treadle up`: embedded Postgres and NATS, every service, the runner and the gateway, in one process, one folder."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, TextIO

import uvloop
from rich.console import Console

from services.cli import demo_story
from services.cli.free_port import NoFreePort, gateway_port
from services.engines import EngineError, Engines, engines, resolve_home
from services.kernel import telemetry
from services.kernel.clock import SystemClock
from services.kernel.lifecycle import settle_memory, stop_signal
from services.kernel.principal import Authenticator, Principal
from services.kernel.settings import CommonSettings, SettingsFault, load

_log = telemetry.get_logger("up")
EXIT_REFUSED: Final = 1
EXIT_USAGE: Final = 2
LOG_NAME: Final = "treadle.log"


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What a person may say: `home` (TREADLE_HOME), `port` (TREADLE_PORT), whether to fill the demo story."""

    home: str | None = None
    port: int | None = None
    demo: bool = False
    open_browser: bool = True


def up(options: UpOptions) -> int:
    """Runs until SIGTERM or SIGINT; answers the exit code. 1: a typed refusal (folder in use, full, read-only, port
    taken); 2: settings that are wrong."""
    errors = Console(stderr=True, highlight=False)
    try:
        return uvloop.run(_up(options))
    except (EngineError, NoFreePort) as refusal:
        errors.print(f"treadle: {refusal}", style="red", soft_wrap=True)
        return EXIT_REFUSED
    except SettingsFault as fault:
        errors.print(f"treadle: the settings are wrong\n{fault}", style="red", soft_wrap=True)
        return EXIT_USAGE


async def _up(options: UpOptions) -> int:
    # Imported late: `treadle --help` need not load six deployables.
    from services.cli.hosting import host_all, migrate_all

    home = resolve_home(options.home)
    settings = load(CommonSettings)
    stop = stop_signal()
    say = Console(highlight=False, soft_wrap=True)
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(engines(home))
        stack.callback(_log_to(settings, running.logs / LOG_NAME).close)
        port = gateway_port(options.port)
        await migrate_all(running)
        hosted = await host_all(running, home, f"127.0.0.1:{port}", stack)
        settle_memory()
        url = f"http://{hosted.gateway}/"
        watching = asyncio.create_task(_tell_of_engines(running))
        stack.callback(watching.cancel)
        if options.demo:
            await _fill_demo(url, settings, say)
        say.print(f"Treadle is ready: {url}")
        if settings.secret() is not None:
            say.print("people log in with a token: treadle token NAME", style="dim")
        say.print("gRPC " + "   ".join(f"{name} {at}" for name, at in hosted.services.items()), style="dim")
        say.print(f"data {home}   log {running.logs / LOG_NAME}   stop with Ctrl-C", style="dim")
        sys.stdout.flush()
        if options.open_browser and sys.stdout.isatty():
            await asyncio.to_thread(webbrowser.open, url)
        await stop.wait()
        say.print("stopping …", style="dim")
    return 0


def _log_to(settings: CommonSettings, path: Path) -> TextIO:
    """One log for everything in this process, in the data folder, so that the terminal stays readable."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    out = os.fdopen(descriptor, "w", encoding="utf-8", buffering=1)
    telemetry.configure_logging(settings.log_level, settings.log_format, out)
    return out


async def _tell_of_engines(running: Engines) -> None:
    """Deaths and restarts of Postgres and NATS, in the log."""
    async for event in running.watch():
        _log.warning("engine.changed", change=repr(event))


async def _fill_demo(url: str, settings: CommonSettings, say: Console) -> None:
    """The story is filled once: where threads exist already, nothing is added. With a secret it is told by a reviewer
    of the tenant `default`."""
    teller = Principal("default", "demo", "user", frozenset({"reviewer"}))
    authenticator = Authenticator(settings.secret(), SystemClock())
    token = None if authenticator.open else authenticator.mint(teller, timedelta(minutes=10))
    try:
        filled = await demo_story.fill_if_empty(url, token)
    except Exception:
        # A demo that fails must not take the real thing down with it.
        _log.exception("demo.failed")
        say.print("the demo story could not be filled; the log says why", style="yellow")
        return
    if filled:
        say.print("a small story has been filled in: look at the inbox", style="dim")
