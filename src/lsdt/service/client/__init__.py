"""Clients of the service: `lsdt.Client` for plain code, `lsdt.AsyncClient` for asynchronous code.

`calls` is the table of what a client can ask of the service, `results` reads the answers. `clients` has the
methods, each written once; `both` turns it into a plain and an asynchronous one.
"""

from lsdt.service.client.clients import AsyncClient, Client
from lsdt.service.client.results import RemoteDecision, StoppingAnswer

__all__ = ["AsyncClient", "Client", "RemoteDecision", "StoppingAnswer"]
