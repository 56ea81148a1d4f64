"""An HTTP transport that connects only to addresses that it has checked: resolve, check, connect to exactly that.

A name is never resolved a second time between check and use (DNS rebinding). TLS and the Host header still speak of
the name.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

import httpx

from services.runner.actions.hosts import Address, AllowedHosts, literal_address
from services.runner.domain.failure import Code, Failed


class PinnedTransport(httpx.AsyncBaseTransport):
    """Sends each request to a checked address; Failed(host_not_allowed) if one of a host's addresses is not allowed."""

    def __init__(self, allowed: AllowedHosts, inner: httpx.AsyncBaseTransport) -> None:
        self._allowed = allowed
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Tries the checked addresses in order; only a connection that was never made is tried again elsewhere."""
        host = request.url.host
        addresses = await self._resolve(host, request.url.port or (443 if request.url.scheme == "https" else 80))
        for address in addresses:
            if not self._allowed.allows(host, address):
                raise Failed(Code.HOST_NOT_ALLOWED, f"{host} ({address})")
        for last, address in zip([False] * (len(addresses) - 1) + [True], addresses, strict=True):
            try:
                return await self._inner.handle_async_request(_to_address(request, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if last:
                    raise
        raise Failed(Code.UNREACHABLE, f"{host} has no address")

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._inner.aclose()

    async def _resolve(self, host: str, port: int) -> list[Address]:
        """A host that has no address and is on no list is refused like one with an address that is on none."""
        literal = literal_address(host)
        if literal is not None:
            return [literal]
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as fault:
            code = Code.UNREACHABLE if self._allowed.lists(host) else Code.HOST_NOT_ALLOWED
            raise Failed(code, f"{host}: {fault}") from fault
        unique = dict.fromkeys(str(address[0]).partition("%")[0] for *_, address in found)
        return [ip_address(text) for text in unique]


def _to_address(request: httpx.Request, address: Address) -> httpx.Request:
    """The same request, addressed to an IP; `sni_hostname` keeps TLS (name and certificate) on the host's name."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
