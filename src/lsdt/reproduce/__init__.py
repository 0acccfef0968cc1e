"""The paper redone: one file per figure, table or check, with the claims it decides."""

from lsdt.reproduce.campaign import Reproduction, reproduce
from lsdt.reproduce.experiments import Request

__all__ = ["Reproduction", "Request", "reproduce"]
