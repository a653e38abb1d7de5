"""Where a webhook may post to, so that nobody makes the server knock at doors that they could not reach themselves.

Everybody may name public addresses, over https. The machine's own addresses and private networks are for admins, also
over plain http. A name is judged by what it resolves to at the moment of sending, and that is what is connected to.
"""

import ipaddress
import socket
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from podracer_core.errors import PodracerError

MAX_LENGTH = 500
_PRIVATE_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressError(PodracerError):
    """An address that is not posted to; the text says why."""


class Place(Enum):
    """What kind of network an IP address belongs to."""

    PUBLIC = "public"
    PRIVATE = "private"
    NOBODYS = "nobody's"


@dataclass(frozen=True)
class Address:
    """The parts of a URL that is posted to; target: path and query."""

    scheme: str
    host: str
    port: int
    target: str


def address_parse(url: str) -> Address:
    """Raises AddressError for what is no URL to post to."""
    if len(url) > MAX_LENGTH:
        raise AddressError(f"an address has at most {MAX_LENGTH} characters, this one has {len(url)}")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise AddressError("write the address in ASCII and without blanks")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise AddressError("this is no address; it looks like https://chat.example.org/hooks/abc") from None
    if parts.scheme not in ("https", "http") or not host or port == 0:
        raise AddressError("an address looks like https://chat.example.org/hooks/abc")
    if parts.username is not None or parts.password is not None:
        raise AddressError("leave name and password out of the address; the signature proves who sends")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), target)


def check_written(address: Address, *, private_allowed: bool) -> None:
    """What can be told before the name is looked up. Raises AddressError."""
    ip = _ip(address.host)
    if ip is not None:
        _check(address, [ip], private_allowed=private_allowed)
        return
    if private_allowed:
        return
    if address.scheme != "https":
        raise AddressError("use https; plain http is for private networks, which only admins may name")
    if "." not in address.host.rstrip(".") or address.host.rstrip(".").endswith(_PRIVATE_ENDINGS):
        raise AddressError(f"{address.host} is a name of this machine or network, which only admins may name")


def resolve(address: Address, *, private_allowed: bool) -> list[str]:
    """The IP addresses to connect to, looked up now. Raises AddressError for one that may not be posted to, OSError."""
    ip = _ip(address.host)
    if ip is not None:
        found = [ip]
    else:
        entries = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        found = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in entries]
    # All of them: a name that also leads inside is not to be tried until it does.
    _check(address, found, private_allowed=private_allowed)
    return list(dict.fromkeys(map(str, found)))


def place_of(ip: IPAddress) -> Place:
    """An IPv6 address that stands for an IPv4 address is where that is."""
    inner = _inner(ip)
    if inner is not None:
        return place_of(inner)
    if ip.is_multicast or ip.is_unspecified or ip.is_link_local:
        return Place.NOBODYS
    return Place.PUBLIC if ip.is_global else Place.PRIVATE


def _inner(ip: IPAddress) -> ipaddress.IPv4Address | None:
    if isinstance(ip, ipaddress.IPv4Address):
        return None
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


def _ip(host: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _check(address: Address, found: list[IPAddress], *, private_allowed: bool) -> None:
    for ip in found:
        name = address.host if address.host == str(ip) else f"{address.host} ({ip})"
        place = place_of(ip)
        if place is Place.NOBODYS:
            raise AddressError(f"{name} is no address that a program listens on")
        if place is Place.PRIVATE and not private_allowed:
            raise AddressError(f"{name} belongs to this machine or a private network, which only admins may name")
        if place is Place.PUBLIC and address.scheme != "https":
            raise AddressError(f"use https for {name}; plain http is for private networks")
