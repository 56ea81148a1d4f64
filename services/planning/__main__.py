"""`python -m services.planning`: this deployable alone in its process."""

from services.kernel.lifecycle import serve
from services.planning.main import build
from services.planning.settings import PlanningSettings

if __name__ == "__main__":
    serve("planning", PlanningSettings, build)
