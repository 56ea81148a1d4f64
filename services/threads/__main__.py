"""`python -m services.threads`: this deployable alone in its process."""

from services.kernel.lifecycle import serve
from services.threads.main import build
from services.threads.settings import ThreadsSettings

if __name__ == "__main__":
    serve("threads", ThreadsSettings, build)
