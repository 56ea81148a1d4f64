"""The runner's settings (environment, prefix TREADLE_). Every one has a safe default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from services.kernel.settings import CommonSettings
from services.runner.actions.hosts import AllowedHosts


class RunnerSettings(CommonSettings):
    """What `python -m services.runner` reads."""

    threads_target: str = "127.0.0.1:9101"
    """The threads service's gRPC address."""
    streaming_target: str = "127.0.0.1:9104"
    """The streaming service's gRPC address; empty: this runner holds no sessions."""
    coordination_target: str = ""
    """The coordination service's gRPC address; empty: this runner takes no workers and asks for no context there."""
    planning_target: str = ""
    """The planning service's gRPC address; empty: no plan is put before the agents."""
    gateway_url: str = ""
    """The gateway's URL, for example `http://127.0.0.1:8420`; empty: agents have no tools."""
    runner_id: str = Field(default="", pattern=r"^[!-~]{0,128}$")
    """This runner's own name, printable ASCII without spaces; empty: made from host name and process id."""
    runner_concurrency: int = Field(default=4, ge=1, le=32)
    """Jobs at a time."""
    runner_wait_seconds: float = Field(default=20.0, gt=0, le=60)
    """How long one claim waits for work."""
    drain_seconds: float = Field(default=30.0, gt=0, le=300)
    """Half of it for work to end by itself, the rest for stopping and reporting it."""
    heartbeat_seconds: float = Field(default=5.0, gt=0, le=60)
    lease_seconds: float = Field(default=15.0, gt=0, le=300)
    """What the service gives for each heartbeat; a runner that is not answered for so long stops its work."""

    provider: Literal["scripted"] = "scripted"
    """Where guesses come from."""
    home: Path = Path("~/.treadle")
    """The data folder (TREADLE_HOME)."""
    files: Path | None = None
    """The folder that file actions write to; unset: `files` in the data folder."""
    http_allow: Annotated[tuple[str, ...], NoDecode] = ("loopback",)
    """Hosts that http_request may reach: words separated by commas or spaces (services/runner/actions/hosts.py)."""
    http_timeout_seconds: float = Field(default=30.0, gt=0, le=600)
    shell: bool = False
    """Whether the action `shell` may run."""
    shell_timeout_seconds: float = Field(default=60.0, gt=0, le=600)

    session_adapters: Annotated[tuple[Literal["scripted", "openai", "pi"], ...], NoDecode] = (
        "scripted",
        "openai",
        "pi",
    )
    """Agents that this runner offers, where they are there: `openai` needs a base URL, `pi` a program."""
    session_concurrency: int = Field(default=64, ge=1, le=1000)
    """Sessions at a time."""
    worker_concurrency: int = Field(default=32, ge=1, le=1000)
    """Workers at a time; each is watched here, and its session is held by whichever runner takes it."""
    agent_token_seconds: float = Field(default=6 * 3600.0, gt=0, le=11 * 3600)
    """An agent's token is renewed so often; each is good for twelve hours."""
    scripted_pace_ms: float = Field(default=20.0, ge=0, le=10_000)
    """Between two words of the scripted agent."""
    openai_base_url: str = ""
    """An OpenAI-compatible endpoint, for example `http://127.0.0.1:11434/v1`."""
    openai_api_key: SecretStr = SecretStr("none")
    openai_model: str = Field(default="", max_length=128)
    """For sessions that name none."""
    openai_timeout_seconds: float = Field(default=600.0, gt=0, le=3600)
    """Silence after which the endpoint is given up."""
    openai_reasoning_effort: bool = True
    """Whether a session's thinking level is sent to the endpoint; some models refuse it."""
    openai_usage: bool = True
    """Whether the endpoint is asked to count tokens; some refuse that."""
    pi_command: Annotated[tuple[str, ...], NoDecode] = ("pi",)
    """How Pi (`@mariozechner/pi-coding-agent` 0.73.1) is called: words."""
    pi_environment: Annotated[tuple[str, ...], NoDecode] = ()
    """Names of variables that Pi gets, for example ANTHROPIC_API_KEY; of the rest it sees nothing but PATH."""
    pi_silence_seconds: float = Field(default=600.0, gt=0, le=86_400)
    """A provider that says nothing for so long is given up."""

    @field_validator("http_allow", "session_adapters", "pi_command", "pi_environment", mode="before")
    @classmethod
    def _words(cls, value: object) -> object:
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @field_validator("http_allow")
    @classmethod
    def _known_words(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        AllowedHosts.parse(words)
        return words

    @property
    def files_folder(self) -> Path:
        """The folder that file actions write to."""
        return (self.files or self.home / "files").expanduser()
