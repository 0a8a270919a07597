"""What is raised, and what becomes of it."""

import math
import re

CAUSES_MAX = 8


def milliseconds(who, seconds):
    """Seconds as the host takes them. `who` is told of what is no number of them."""
    try:
        return min(max(0, math.ceil(seconds * 1000)), 2**63)
    except OverflowError:
        return 2**63 if seconds > 0 else 0
    except (TypeError, ValueError):
        raise ValueError(f"{who} wants seconds, and {seconds!r} is no number of them") from None


class Never(Exception):
    """Sends the event to the dead letters at once: trying again would not help."""


class After(Exception):
    """Has the event come again after so many seconds, and not as the rate limiter says."""

    def __init__(self, message, seconds):
        super().__init__(message)
        self.seconds = seconds
        self.milliseconds = milliseconds("After", seconds)


class HostError(Exception):
    """What a host function refused. `kind` is a word of the contract, `not-granted`, and `detail` what came with it."""

    def __init__(self, what, refused):
        if isinstance(refused, str):
            self.kind, self.detail = "refused", refused
        else:
            case = type(refused).__name__.rpartition("_")[2]
            self.kind, self.detail = re.sub("(?<=[a-z])(?=[A-Z])", "-", case).lower(), getattr(refused, "value", None)
        words = getattr(self.detail, "message", self.detail)
        super().__init__(f"{what}: {self.kind}" if words is None else f"{what}: {self.kind}: {words}")


def text(error):
    """Something raised, in words, and what it was raised from."""
    words = []
    while error is not None and len(words) <= CAUSES_MAX:
        own, kind = str(error), type(error).__name__
        plain = type(error) in (Exception, Never, After)
        words.append((own if plain else f"{kind}: {own}") if own else kind)
        error = error.__cause__
    return ": ".join(words)
