"""`python -m services.coordination`: this deployable alone in its process."""

from services.coordination.main import build
from services.coordination.settings import CoordinationSettings
from services.kernel.lifecycle import serve

if __name__ == "__main__":
    serve("coordination", CoordinationSettings, build)
