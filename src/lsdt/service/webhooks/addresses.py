"""Where webhooks may go.

A caller who can make a service send requests reaches what the service reaches: other services on its network,
the metadata service of its cloud. So only the operator decides where webhooks go, with ``--webhook`` and
``--webhook-origin``; over HTTP, endpoints can be added only at these origins. Addresses that no receiver has,
such as those of a cloud's metadata, are refused at every connection, whatever the name, and the connection
goes to the very address that was checked: a name that changes its address in between gains nothing.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Collection

_LONGEST = 2_000  # characters: longer URLs are refused by many servers
_PORTS = {"http": 80, "https": 443}
_NAT64 = IPv6Network("64:ff9b::/96")  # the last 32 bits are an IPv4 address
# Metadata services that are not at a link-local address: of AWS over IPv6, and of Alibaba.
_METADATA = frozenset((IPv6Address("fd00:ec2::254"), IPv4Address("100.100.100.200")))


class Target(NamedTuple):
    """An address to send to: `path` with its query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """Scheme, host and port, as browsers write an origin."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


def checked_url(url: object) -> Target:
    """Return the parts of a webhook's URL.

    Examples
    --------
    >>> from lsdt.service.webhooks.addresses import checked_url
    >>> checked_url("https://hooks.example.com/lsdt?team=shop").origin
    'https://hooks.example.com'
    """
    wrong = ""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        wrong = "it has other characters than a URL (write a host in punycode, and the rest in % escapes)"
    elif len(url) > _LONGEST:
        wrong = f"it has more than {_LONGEST:,} characters"
    else:
        try:
            found = urlsplit(url)
            host, port = found.hostname, found.port
        except ValueError:
            wrong = "it is not a URL"
        else:
            if found.scheme not in _PORTS or not host:
                wrong = "it does not begin with https://HOST or http://HOST"
            elif "@" in found.netloc:
                wrong = "it holds a password; receivers verify the signature instead"
            elif found.fragment or url.endswith("#"):
                wrong = "it has a fragment, which is never sent"
            elif port == 0 or found.netloc.endswith(":"):
                wrong = "its port is not one from 1 to 65535"
            else:
                path = (found.path or "/") + (f"?{found.query}" if found.query else "")
                return Target(found.scheme, host, port or _PORTS[found.scheme], path)
    raise InvalidInput(f"this cannot be the URL of a webhook: {wrong}; got {str(url)[:200]!r}")


def checked_origin(text: object) -> str:
    """Return an origin to which webhooks may be set over HTTP."""
    target = checked_url(text)
    if target.path != "/":
        raise InvalidInput(
            f"an origin is scheme, host and port, such as https://hooks.example.com; got {text!r}"
        )
    return target.origin


def check_allowed(target: Target, origins: Collection[str]) -> None:
    """Refuse a webhook that is set over HTTP, unless the operator has allowed its origin."""
    if target.origin in origins:
        return
    allowed = ", ".join(sorted(origins)) or "none yet"
    raise InvalidInput(
        f"webhooks may go to origins that the operator of the service allows (so far: {allowed}); got "
        f"{target.origin!r}; start the service with --webhook-origin {target.origin}"
    )


def forbidden(address: str) -> str:
    """Return why nothing is sent to an IP address; empty if it may be.

    Examples
    --------
    >>> from lsdt.service.webhooks.addresses import forbidden
    >>> forbidden("169.254.169.254"), forbidden("::ffff:169.254.169.254"), forbidden("192.0.2.7")
    ('a link-local address', 'a link-local address', '')
    """
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if ip in _NAT64:
            inner = IPv4Address(int(ip) & 0xFFFFFFFF)
        ip = inner or ip
    if ip.is_link_local:
        return "a link-local address"
    if ip in _METADATA:
        return "the metadata service of a cloud"
    if ip.is_multicast or ip.is_unspecified or ip == IPv4Address("255.255.255.255"):
        return "no address of one host"
    return ""


def hidden(url: str) -> str:
    """Return a URL without its path, which often holds a secret."""
    target = checked_url(url)
    return target.origin + ("/" if target.path == "/" else "/…")
