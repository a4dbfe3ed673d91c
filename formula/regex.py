"""Matching without backtracking: all ways through a pattern are followed at once (Pike's method).

Each character of the text meets each state of the program at most once, so the work is bounded by
their product, and the meter stops it long before that hurts.
"""

from collections.abc import Iterator
from functools import lru_cache

from formula.regex_syntax import (
    Edge,
    Fork,
    Go,
    Program,
    Ranges,
    Take,
    only_text,
    program,
)
from formula.work import Work

_STATE_COST = 16  # a state visited costs about as much as so many characters handled


class _Threads:
    """The states reached at one place of the text, preferred first, with where each began."""

    __slots__ = ("_code", "_seen", "_size", "reached", "visits")

    def __init__(self, code: Program, size: int) -> None:
        self._code = code
        self._size = size
        self._seen: set[int] = set()
        self.reached: list[tuple[int, int]] = []
        self.visits = 1

    def follow(self, state: int, began: int, at: int) -> None:
        """Add a state, and all that is reached from it without taking a character."""
        waiting = [state]
        while waiting:
            state = waiting.pop()
            if state in self._seen:
                continue
            self._seen.add(state)
            self.visits += 1
            instruction = self._code[state] if state < len(self._code) else None
            match instruction:
                case Fork():
                    waiting += (state + instruction.second, state + instruction.first)
                case Go():
                    waiting.append(state + instruction.offset)
                case Edge():
                    if at == (self._size if instruction.at_end else 0):
                        waiting.append(state + 1)
                case _:
                    self.reached.append((state, began))


@lru_cache(maxsize=4096)
def _takes(ranges: Ranges, character: str) -> bool:
    code = ord(character)
    return any(low <= code <= high for low, high in ranges)


def _advance(
    code: Program, threads: _Threads, following: _Threads, text: str, at: int
) -> tuple[int, int] | None:
    """Move each thread over the character at `at`; return a match, which ends all lesser ones."""
    character = text[at : at + 1]
    for state, began in threads.reached:
        if state == len(code):
            return began, at
        instruction = code[state]
        if character and isinstance(instruction, Take) and _takes(instruction.ranges, character):
            following.follow(state + 1, began, at + 1)
    return None


def _find(code: Program, text: str, start: int, work: Work) -> tuple[int, int] | None:
    """Return where the leftmost match at or after `start` begins and ends."""
    found: tuple[int, int] | None = None
    threads = _Threads(code, len(text))
    for at in range(start, len(text) + 1):
        if found is None:
            threads.follow(0, at, at)
        elif not threads.reached:
            break
        work.spend(threads.visits * _STATE_COST)
        following = _Threads(code, len(text))
        found = _advance(code, threads, following, text, at) or found
        threads = following
    return found


def matches(pattern: str, text: str, work: Work) -> Iterator[tuple[int, int]]:
    """Yield where each match begins and ends, left to right, none overlapping."""
    code = program(pattern)
    fixed = only_text(code)
    at = 0
    while at <= len(text):
        if fixed:
            begin = text.find(fixed, at)
            found = None if begin < 0 else (begin, begin + len(fixed))
        else:
            found = _find(code, text, at, work)
        if found is None:
            return
        yield found
        at = found[1] + 1 if found[0] == found[1] else found[1]
