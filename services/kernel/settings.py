"""Settings from the environment (prefix TREADLE_): typed, with safe defaults, every fault told at once."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Literal, TypeVar

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

_S = TypeVar("_S", bound=BaseSettings)


class SettingsFault(Exception):
    """The environment does not make valid settings; the text names every variable that is wrong."""


class CommonSettings(BaseSettings):
    """What every deployable reads."""

    model_config = SettingsConfigDict(env_prefix="TREADLE_", frozen=True, extra="ignore")

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    auth_secret: SecretStr | None = Field(default=None, min_length=32)
    """Signs and verifies bearer tokens (HS256). Unset: tenant `default`, subject `local`, loopback only."""
    drain_seconds: float = Field(default=10.0, gt=0, le=300)
    """How long a deployable may take to stop after SIGTERM."""

    def secret(self) -> str | None:
        """The token secret in clear."""
        return None if self.auth_secret is None else self.auth_secret.get_secret_value()


class ServiceSettings(CommonSettings):
    """What every gRPC service on Postgres and NATS reads."""

    listen: str = "127.0.0.1:0"
    """Where gRPC listens, `host:port`; port 0 picks a free one."""
    metrics_listen: str | None = None
    """Where `/metrics` is served, `host:port`; unset: not served."""
    nats_url: str = "nats://127.0.0.1:4222"
    pool_min: int = Field(default=1, ge=0)
    pool_max: int = Field(default=10, ge=2, le=200)
    page_key: SecretStr | None = None
    """Signs page tokens; the same in all replicas. Unset: taken from auth_secret, else made per process."""

    def page_signing_key(self) -> bytes:
        """The key for kernel.paging.PageTokens."""
        given = self.page_key or self.auth_secret
        if given is None:
            return _PROCESS_KEY
        return hashlib.sha256(b"page\0" + given.get_secret_value().encode()).digest()


_PROCESS_KEY = secrets.token_bytes(32)


def load(kind: type[_S], **overrides: Any) -> _S:
    """The settings, or one SettingsFault that lists all that is wrong. Overrides win over the environment."""
    try:
        return kind(**overrides)
    except ValidationError as fault:
        prefix = kind.model_config.get("env_prefix", "")
        lines = [
            f"{prefix}{'_'.join(str(part) for part in error['loc'])}".upper() + f": {error['msg']}"
            for error in fault.errors(include_input=False)
        ]
        raise SettingsFault("\n".join(lines)) from None
