"""How much the score depends on the order in which the options are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from beeline.ordering import BENCHMARK_ORDER, FIXED_ORDERS, check_order
from beeline.study import Condition
from studies.sensitivity import Sensitivity, benchmark_first, navigation_only, settings_of

if TYPE_CHECKING:
    from beeline.spec import Spec

__all__ = ["OrderSensitivity"]


@dataclass(frozen=True, kw_only=True)
class _Settings:
    orders: tuple[str, ...] = ("random-2", "random-3", *FIXED_ORDERS)
    """Beside the benchmark's (beeline.ordering)."""


class OrderSensitivity(Sensitivity):
    """The benchmark's order, two more random ones, oldest and newest first, best and worst
    heuristic first; a condition is named after its order."""

    name = "order_sensitivity"
    factor = "order"
    factors = "orders"

    def __init__(self, orders: tuple[str, ...] = _Settings.orders) -> None:
        self._conditions = benchmark_first(
            Condition(name=order, order=check_order(order)) for order in orders if order != BENCHMARK_ORDER
        )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """``orders``: a list of orders."""
        return cls(settings_of(_Settings, settings, cls.name).orders)

    def conditions(self) -> tuple[Condition, ...]:
        """One an order, the benchmark's first."""
        return self._conditions

    def conditions_for(self, spec: Spec) -> tuple[Condition, ...]:
        """The same for every domain with options."""
        navigation_only(spec)
        return self._conditions

    def benchmark_is(self, spec: Spec) -> str:
        """A random order."""
        return "a random order, drawn anew for each question"
