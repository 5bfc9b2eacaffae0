"""Quantiles of the normal, t, chi-square and F distributions; ``scipy.special`` loads when called."""

from __future__ import annotations

__all__ = ["LEVEL", "chi_square", "f", "normal", "normal_below", "t"]

LEVEL = 0.95
"""Every interval of this package covers at this level."""


def normal(share: float) -> float:
    """The value that a standard normal variable stays below with probability ``share``."""
    from scipy.special import ndtri

    return float(ndtri(share))


def normal_below(value: float) -> float:
    """The probability that a standard normal variable stays below ``value``."""
    from scipy.special import ndtr

    return float(ndtr(value))


def t(share: float, freedom: float) -> float:
    """As :func:`normal`, for Student's t with ``freedom`` degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def chi_square(share: float, freedom: float) -> float:
    """As :func:`normal`, for chi-square with ``freedom`` degrees of freedom."""
    from scipy.special import chdtri

    return float(chdtri(freedom, 1 - share))


def f(share: float, above: float, below: float) -> float:
    """As :func:`normal`, for F with degrees of freedom ``above`` and ``below`` the line."""
    from scipy.special import fdtri

    return float(fdtri(above, below, share))
