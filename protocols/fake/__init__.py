"""A test server that answers the Jev protocol like the public services, faults included.

``python -m protocols.fake --port 8000 [--fault NAME ...]`` runs it; tests use :class:`FakeServer`.
Without faults it conforms, and its probabilities depend on the option texts alone, so that a run
against it can be repeated to the last digit. It listens on loopback and needs no key unless told.
"""

from protocols.fake.faults import FAULTS, Exchange, FaultPlan
from protocols.fake.server import FakeServer

__all__ = ["FAULTS", "Exchange", "FakeServer", "FaultPlan"]
