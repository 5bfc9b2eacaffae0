"""A test server that answers like the public services, faults included; see docs/fake.md.

``python -m protocols.fake --port 8000 [--fault NAME ...]`` runs it; tests use :class:`FakeServer`.
Without faults it conforms, and its probabilities depend on the option texts alone, so that a run
against it can be repeated to the last digit. It listens on loopback and needs no key unless told.
"""

from protocols.fake.counters import Counters
from protocols.fake.exchange import Exchange
from protocols.fake.faults import FAULTS
from protocols.fake.plan import FaultPlan
from protocols.fake.server import FakeServer

__all__ = ["FAULTS", "Counters", "Exchange", "FakeServer", "FaultPlan"]
