"""A Python function as a server that speaks the Jev protocol ("System One").

``python -m protocols.serve my_module:decide --port 8000`` takes any function of one request body
(with ``--batch``: of a list of them), sync or async, and gives it what a public server has:
checked requests, a bounded queue, micro-batches, keys, correct errors and an orderly stop. What a
function may return is told in :mod:`protocols.serve.answers`; to turn a request down it raises
:class:`BadRequest`. ``python -m protocols.serve model=NAME`` serves a configured model from where it is
placed (:mod:`protocols.serve.configured`).
"""

from protocols.serve.refusals import BadRequest
from protocols.serve.server import ServeThread
from protocols.serve.settings import ServeSettings

__all__ = ["BadRequest", "ServeSettings", "ServeThread"]
