"""Which hosts an http_request may reach. Owns the rule; knows nothing of HTTP.

An allow list (TREADLE_HTTP_ALLOW) is words: `loopback`, a network (`10.1.0.0/16`, `192.0.2.7`), a host (`crm.example`)
or a host and all below it (`*.crm.example`). Default: `loopback`. What counts is the address that is connected to:
a listed name that leads to this machine or to a link-local address is refused, unless that network is listed too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Self, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
_LOOPBACK: Final[tuple[Network, ...]] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The allow list, read once."""

    networks: tuple[Network, ...]
    names: frozenset[str]
    suffixes: tuple[str, ...]

    @classmethod
    def parse(cls, words: Iterable[str]) -> Self:
        """From the setting's words; a ValueError names the word that is none of the four forms."""
        networks: list[Network] = []
        names: set[str] = set()
        suffixes: list[str] = []
        for word in (word.strip().lower() for word in words):
            if word == "loopback":
                networks.extend(_LOOPBACK)
            elif (network := _network(word)) is not None:
                networks.append(network)
            elif _is_host_name(word.removeprefix("*.")):
                suffixes.append(word[1:]) if word.startswith("*.") else names.add(word)
            elif word:
                raise ValueError(f"{word!r} is no host, *.host, network or `loopback`")
        return cls(tuple(networks), frozenset(names), tuple(suffixes))

    def allows(self, host: str, address: Address) -> bool:
        """Whether a connection to `address`, asked for as `host`, is allowed."""
        reached = _unmapped(address)
        if any(reached in network for network in self.networks):
            return True
        return self.lists(host) and not _of_this_machine(reached)

    def lists(self, host: str) -> bool:
        """Whether the host is listed by its name."""
        host = host.lower().rstrip(".")
        return host in self.names or any(host.endswith(suffix) for suffix in self.suffixes)


def _unmapped(address: Address) -> Address:
    """::ffff:127.0.0.1 is 127.0.0.1."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _of_this_machine(address: Address) -> bool:
    return address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast


def _network(word: str) -> Network | None:
    try:
        return ip_network(word, strict=False)
    except ValueError:
        return None


def _is_host_name(word: str) -> bool:
    labels = word.split(".")
    return len(word) <= 253 and all(
        0 < len(label) <= 63 and label.replace("-", "").replace("_", "").isalnum() and label.isascii()
        for label in labels
    )


def literal_address(host: str) -> Address | None:
    """The address that a host is written as, if it is one."""
    try:
        return ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
