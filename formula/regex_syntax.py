r"""Regular expressions, read into a program whose running time is linear in the text.

Understood: characters, `.`, classes `[a-z]` `[^...]`, `\d \w \s` and their opposites (ASCII),
`\t \n \r \f`, a backslash before a sign, groups `( )` and `(?: )`, `|`, `^`, `$`, and
`* + ? {m} {m,} {m,n}`, greedy or lazy (`?` after them). Refused, because they need
backtracking: back-references, look-around, possessive and atomic groups.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, NoReturn

from formula.errors import Code, Fault
from formula.limits import MAX_PATTERN, MAX_REGEX_STATES, MAX_REPEAT

Ranges = tuple[tuple[int, int], ...]
_LAST: Final = 0x10FFFF
_ANY: Final[Ranges] = ((0, 9), (11, 12), (14, _LAST))
_DIGIT: Final[Ranges] = ((48, 57),)
_WORD: Final[Ranges] = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Final[Ranges] = ((9, 13), (32, 32))
_CONTROL: Final = {"t": 9, "n": 10, "r": 13, "f": 12}
_COUNTS: Final = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}", re.ASCII)
_MAX_GROUPS: Final = 16


class Take(NamedTuple):
    """Take one character of the ranges and go on with the next instruction."""

    ranges: Ranges


class Fork(NamedTuple):
    """Go on at both places, `first` preferred; offsets count from this instruction."""

    first: int
    second: int


class Go(NamedTuple):
    """Go on elsewhere."""

    offset: int


class Edge(NamedTuple):
    """Go on only at the start (`^`) or at the end (`$`) of the text."""

    at_end: bool


Instruction = Take | Fork | Go | Edge
Program = tuple[Instruction, ...]


def refuse(message: str) -> NoReturn:
    raise Fault(Code.INVALID_REGEX, f"the regular expression is invalid: {message}")


@lru_cache(maxsize=256)
def program(pattern: str) -> Program:
    """Return the program of a pattern; running past its end is a match."""
    if len(pattern) > MAX_PATTERN:
        refuse(f"longer than {MAX_PATTERN} characters")
    reader = _Reader(pattern)
    code = reader.alternatives(0)
    if reader.at < len(pattern):
        refuse(f"`)` at {reader.at + 1} closes nothing")
    return code


def _sized(code: Program) -> Program:
    if len(code) > MAX_REGEX_STATES:
        refuse(f"it expands to more than {MAX_REGEX_STATES} states")
    return code


def _either(first: Program, second: Program) -> Program:
    return _sized((Fork(1, len(first) + 2), *first, Go(len(second) + 1), *second))


def _optional(code: Program, lazy: bool) -> Program:
    past = len(code) + 1
    return (Fork(past, 1) if lazy else Fork(1, past), *code)


def _star(code: Program, lazy: bool) -> Program:
    past = len(code) + 2
    return (Fork(past, 1) if lazy else Fork(1, past), *code, Go(-len(code) - 1))


def _repeat(code: Program, low: int, high: int | None, lazy: bool) -> Program:
    if high is not None and high < low:
        refuse("`{m,n}` needs m no larger than n")
    if max(low, high or 0) > MAX_REPEAT:
        refuse(f"a repetition of more than {MAX_REPEAT}")
    _sized(code * max(low, high or 0, 1))
    tail: Program = ()
    if high is None:
        tail = _star(code, lazy)
    else:
        for _ in range(high - low):
            tail = _optional((*code, *tail), lazy)
    return _sized((*code * low, *tail))


def _opposite(ranges: Ranges) -> Ranges:
    gaps, next_free = [], 0
    for low, high in sorted(ranges):
        if low > next_free:
            gaps.append((next_free, low - 1))
        next_free = max(next_free, high + 1)
    if next_free <= _LAST:
        gaps.append((next_free, _LAST))
    return tuple(gaps)


_CLASSES: Final = {
    "d": _DIGIT,
    "w": _WORD,
    "s": _SPACE,
    "D": _opposite(_DIGIT),
    "W": _opposite(_WORD),
    "S": _opposite(_SPACE),
}


class _Reader:
    """Reads a pattern from left to right; `at` is the next character."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _next(self) -> str:
        character = self._peek()
        if not character:
            refuse("it ends too early")
        self.at += 1
        return character

    def _take(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def alternatives(self, depth: int) -> Program:
        if depth > _MAX_GROUPS:
            refuse(f"groups are nested more than {_MAX_GROUPS} deep")
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        code = branches.pop()
        while branches:
            code = _either(branches.pop(), code)
        return code

    def _sequence(self, depth: int) -> Program:
        parts: list[Instruction] = []
        while self._peek() not in {"", "|", ")"}:
            parts += self._quantified(self._atom(depth))
            _sized(tuple(parts))
        return tuple(parts)

    def _quantified(self, code: Program) -> Program:
        counts = self._counts()
        if counts is None:
            return code
        lazy = self._take("?")
        if self._peek() in {"*", "+", "?"} or _COUNTS.match(self.pattern, self.at):
            refuse(f"nothing to repeat at {self.at + 1}")
        return _repeat(code, *counts, lazy)

    def _counts(self) -> tuple[int, int | None] | None:
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return counts
        found = _COUNTS.match(self.pattern, self.at)
        if not found:
            return None
        self.at = found.end()
        low, comma, high = int(found[1]), found[2], found[3]
        if not comma:
            return low, low
        return low, int(high) if high else None

    def _atom(self, depth: int) -> Program:
        character = self._next()
        match character:
            case "(":
                return self._group(depth)
            case "[":
                return (Take(self._class()),)
            case ".":
                return (Take(_ANY),)
            case "\\":
                return (Take(self._escape()),)
            case "^" | "$":
                return (Edge(character == "$"),)
            case "*" | "+" | "?" | "{":
                refuse(f"nothing to repeat at {self.at}")
            case _:
                return (Take(_single(character)),)

    def _group(self, depth: int) -> Program:
        if not self._take("?:") and self._peek() == "?":
            refuse("only groups `( )` and `(?: )` are understood")
        code = self.alternatives(depth + 1)
        if not self._take(")"):
            refuse("a group is not closed")
        return code

    def _escape(self) -> Ranges:
        character = self._next()
        if character in _CLASSES:
            return _CLASSES[character]
        if character in _CONTROL:
            return ((_CONTROL[character], _CONTROL[character]),)
        if character.isalnum():
            refuse(f"`\\{character}` is not understood")
        return _single(character)

    def _class(self) -> Ranges:
        negated = self._take("^")
        ranges = list(self._class_part())  # a closing bracket in first place stands for itself
        while not self._take("]"):
            ranges += self._class_part()
        return _opposite(tuple(ranges)) if negated else tuple(sorted(ranges))

    def _class_part(self) -> Ranges:
        low = self._class_character()
        after = self.pattern[self.at + 1 : self.at + 2]
        if len(low) != 1 or low[0][0] != low[0][1] or self._peek() != "-" or after in {"", "]"}:
            return low
        self.at += 1
        high = self._class_character()
        if len(high) != 1 or high[0][1] < low[0][0]:
            refuse("a class has a range that ends before it starts")
        return ((low[0][0], high[0][1]),)

    def _class_character(self) -> Ranges:
        character = self._next()
        if character == "[":
            refuse("write `\\[` for a bracket within a class")
        return self._escape() if character == "\\" else _single(character)


def _single(character: str) -> Ranges:
    return ((ord(character), ord(character)),)


def only_text(code: Sequence[Instruction]) -> str | None:
    """Return the text of a program which matches one fixed text and nothing else."""
    found = []
    for instruction in code:
        if not isinstance(instruction, Take) or len(instruction.ranges) != 1:
            return None
        low, high = instruction.ranges[0]
        if low != high:
            return None
        found.append(chr(low))
    return "".join(found) or None
