"""What the gateway counts, and `/metrics` in Prometheus' text form."""

from __future__ import annotations

from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import Response

HTTP_SECONDS: Final = Histogram(
    "treadle_http_seconds",
    "Time of an HTTP request; of a stream, until it ended.",
    ["method", "route", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
STREAMS_OPEN: Final = Gauge("treadle_http_streams_open", "Open SSE streams.")
STREAMS_CLOSED: Final = Counter("treadle_http_streams_closed", "SSE streams that ended, by reason.", ["reason"])
TOOL_SECONDS: Final = Histogram(
    "treadle_mcp_tool_seconds",
    "Time of a tool call, by tool and how it went: ok, cancelled, or the reason of the refusal.",
    ["tool", "outcome"],
    buckets=(0.005, 0.025, 0.1, 0.5, 1, 5, 30, 60, 300),
)


async def metrics(_: Request) -> Response:
    """The process's metrics."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST, headers={"cache-control": "no-store"})
