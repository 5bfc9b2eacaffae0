"""The faults of the test server, each something that a public service was seen doing.

A fault is one small function that changes an :class:`~protocols.fake.exchange.Exchange`; its first
docstring line is its help. To add one, write the function into the module of its group and name it
in that module's ``FAULTS``.
"""

from protocols.fake.faults import connection, limits, probabilities, refusals, reply, statuses, text
from protocols.fake.faults.fault import Fault

__all__ = ["FAULTS", "Fault"]

#: Every fault by name, in the order of --help.
FAULTS: dict[str, Fault] = {
    fault.name: fault
    for module in (probabilities, reply, refusals, text, limits, statuses, connection)
    for fault in module.FAULTS
}
