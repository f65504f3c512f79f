"""A first look at a client: does its adapter keep the contract at all, before any protocol is judged?"""

from harness.smoke.asking import DEADLINE
from harness.smoke.checks import LATER_PROTOCOL, MADE_UP_OPERATION, SmokeCheck, State, smoke

__all__ = ["DEADLINE", "LATER_PROTOCOL", "MADE_UP_OPERATION", "SmokeCheck", "State", "smoke"]
