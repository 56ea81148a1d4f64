"""`python -m gateway`: the gateway in its own process."""

from gateway.main import build
from gateway.settings import GatewaySettings
from services.kernel.lifecycle import serve

serve("gateway", GatewaySettings, build)
