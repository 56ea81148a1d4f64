"""`python -m services.runner`: the runner in its own process."""

from __future__ import annotations

from services.kernel.lifecycle import serve
from services.runner.main import build
from services.runner.settings import RunnerSettings

if __name__ == "__main__":
    serve("runner", RunnerSettings, build)
