"""`python -m services.streaming`: this deployable alone in its process."""

from services.kernel.lifecycle import serve
from services.streaming.main import build
from services.streaming.settings import StreamingSettings

if __name__ == "__main__":
    serve("streaming", StreamingSettings, build)
