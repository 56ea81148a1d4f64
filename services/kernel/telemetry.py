"""Logs and metrics. structlog to stderr, JSON by default; request, tenant and subject ride along."""

from __future__ import annotations

import logging
import sys
from typing import Final, Literal, TextIO, cast

import structlog
from prometheus_client import Counter, Gauge, Histogram
from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger

from services.kernel import request

_SECRET_KEYS: Final = frozenset({"authorization", "token", "password", "secret", "api_key", "cookie"})

RPC_SECONDS: Final = Histogram(
    "treadle_rpc_seconds",
    "Time of a unary RPC on the server, or of the whole stream.",
    ["service", "method", "code"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
RPC_OPEN: Final = Gauge("treadle_rpc_open", "RPCs under way.", ["service", "method"])
JOBS: Final = Gauge("treadle_jobs", "Jobs by state.", ["service", "kind", "state"])
OUTBOX_PENDING: Final = Gauge("treadle_outbox_pending", "Outbox rows not yet sent.", ["service"])
DUTY_FAILURES: Final = Counter("treadle_duty_failures", "Failures of background duties.", ["duty"])


def configure_logging(
    level: Literal["debug", "info", "warning", "error"] = "info",
    form: Literal["json", "console"] = "json",
    stream: TextIO | None = None,
) -> None:
    """Sets structlog up, and lets the standard library's loggers flow through it. `stream`: stderr unless given."""
    out = stream or sys.stderr
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _who_is_asking,
        _no_secrets,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(
            colors=out.isatty(),
            # Without the values of local variables: they may be secrets, and rendering them takes seconds.
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    threshold = getattr(logging, level.upper())
    if form == "json":
        shared.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(out)
    formatter = structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processor=renderer)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(threshold, logging.WARNING))
    # Each try of its pool to connect again, with a traceback: that the database is away is told by kernel/postgres.py.
    logging.getLogger("asyncpg.pool").setLevel(logging.ERROR)


def get_logger(name: str) -> FilteringBoundLogger:
    """A logger that says which part of Treadle speaks."""
    return cast(FilteringBoundLogger, structlog.get_logger(component=name))


def _who_is_asking(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    context = request.current()
    if context is not None:
        event.setdefault("request_id", context.request_id)
        event.setdefault("tenant", context.principal.tenant)
        event.setdefault("subject", context.principal.subject)
    return event


def _no_secrets(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Secrets never reach a log (design/gateway.md): values under telling names are struck out."""
    for key in event:
        if key.lower() in _SECRET_KEYS:
            event[key] = "[struck out]"
    return event
