"""The runner and the contracts that domains, protocols, studies and trackers are written against.

``__version__`` is the version of this code. The version of a benchmark is another number, stated
in ``conf/version/``: code may change every week, a released benchmark never does.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
