"""What the recorded apps have in common: two agents, two tools, the words they say."""

from __future__ import annotations

TASK = "Where is my order A-17, please?"
ASKED = "Clerk, please look up order A-17."
FOUND = "Order A-17 left the warehouse on Monday."
ANSWER = "Your order left the warehouse on Monday."
DONE = "The customer has been told. TERMINATE"
CLOSED = "The stock list is closed."
PLANNER_PROMPT = "You plan how a customer's question is answered."
CLERK_PROMPT = "You look up orders for the planner."


def lookup_order(number: str) -> str:
    """Say where an order is."""
    return f"Order {number} left the warehouse on Monday."


def check_stock(item: str) -> str:
    """Say how many of an item there are."""
    raise ValueError(CLOSED)
