"""The gateway's settings (environment, prefix TREADLE_)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field, ValidationInfo, field_validator

from gateway.contexts import MODULES
from gateway.origin import is_loopback
from services.kernel.settings import CommonSettings

_PACKAGED_CONSOLE: Final = Path(__file__).parent / "console" / "dist"


class GatewaySettings(CommonSettings):
    """What the gateway reads. Every value has a safe default but the targets' addresses in a cluster."""

    gateway_listen: str = "127.0.0.1:8080"
    """Where HTTP is served, `host:port`; port 0 picks a free one. Without auth_secret: loopback only."""
    threads_target: str = "127.0.0.1:9101"
    """gRPC address of the threads service, `host:port` or `unix:path`."""
    streaming_target: str = "127.0.0.1:9104"
    """gRPC address of the streaming service."""
    coordination_target: str = "127.0.0.1:9102"
    """gRPC address of the coordination service."""
    planning_target: str = "127.0.0.1:9103"
    """gRPC address of the planning service."""
    console_dist: Path = _PACKAGED_CONSOLE
    """The built console."""

    gateway_deadline_seconds: float = Field(default=30.0, gt=0, le=600)
    """How long a request may take in all; then 504."""
    gateway_head_seconds: float = Field(default=15.0, gt=0, le=120)
    """How long a connection may take to send a request's head."""
    gateway_body_bytes: int = Field(default=10 * 1024 * 1024, ge=1024, le=32 * 1024 * 1024)
    """Largest body; more is 413. Room for the longest text that a service takes (a report of 3 MiB) also where its
    letters are escapes, which are three times as long. Besides texts a body has 1 MiB (gateway.transcode.json_read)."""
    gateway_rate_per_second: float = Field(default=5_000.0, gt=0)
    """Requests a second of one principal, averaged over a burst of two seconds; more is 429."""
    gateway_open_streams: int = Field(default=2_000, ge=1)
    """Open streams of one principal; more is 429."""
    gateway_allowed_hosts: str = ""
    """Names it may be called by besides loopback ones, comma-separated; looked at only where there is no secret."""
    gateway_cors_origins: str = ""
    """Origins that may call from a browser, comma-separated, for example `https://console.example`."""

    sse_keepalive_seconds: float = Field(default=15.0, ge=0.05, le=120)
    """Silence after which a stream gets a comment line."""
    sse_retry_milliseconds: int = Field(default=1_000, ge=0)
    """What a stream tells the browser to wait before it comes back."""
    sse_linger_seconds: float = Field(default=5.0, ge=0, le=300)
    """How long the shared stream from the service is kept after its last reader left."""

    @field_validator("gateway_listen")
    @classmethod
    def _host_and_port(cls, value: str, info: ValidationInfo) -> str:
        host, _, port = value.rpartition(":")
        if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
            raise ValueError("must be host:port")
        if info.data.get("auth_secret") is None and not is_loopback(host.strip("[]")):
            raise ValueError(
                f"{host} is not a loopback address, and without TREADLE_AUTH_SECRET everybody who connects is the "
                "local user with all roles: set a secret, or listen on 127.0.0.1"
            )
        return value

    def bind(self) -> tuple[str, int]:
        """Host and port to listen on; brackets of an IPv6 address are taken off."""
        host, _, port = self.gateway_listen.rpartition(":")
        return host.strip("[]"), int(port)

    def targets(self) -> dict[str, str]:
        """Context to gRPC address, for each context that the gateway speaks for (gateway.contexts)."""
        return {context: str(getattr(self, f"{context}_target")) for context in MODULES}

    def allowed_hosts(self) -> frozenset[str]:
        """gateway_allowed_hosts as a set."""
        return _listed(self.gateway_allowed_hosts)

    def cors_origins(self) -> frozenset[str]:
        """gateway_cors_origins as a set."""
        return _listed(self.gateway_cors_origins)


def _listed(text: str) -> frozenset[str]:
    return frozenset(part.strip().lower() for part in text.split(",") if part.strip())
