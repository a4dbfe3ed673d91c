"""Syntax errors that say, in users' words, which tokens could have stood at a place."""

from collections.abc import Callable, Iterator, Set
from typing import cast

from lark import Token
from lark.exceptions import UnexpectedCharacters
from lark.parsers.lalr_interactive_parser import InteractiveParser

from penstock.formula.core.errors import FormulaCode, FormulaSyntax, Position, problem

_VALUES = frozenset(("NUMBER", "TEXT", "TOKEN", "NAME", "CUSTOM", "_LPAR"))
_OPERATORS = frozenset(("PLUS", "MINUS", "STAR", "SLASH", "CARET", "COMPARE"))
_ENDS = frozenset(("_NEWLINE", "$END"))
_SIGNS = {
    "_RPAR": "`)`",
    "_COMMA": "`,`",
    "_RSQB": "`]`",
    "_LPAR": "`(`",
    "ASSIGN": "`=`",
    "TOKEN": "a `:name`",
    "NUMBER": "a whole number",
}


def unexpected_token(text: str, token: Token, reader: InteractiveParser) -> FormulaSyntax:
    """Return the syntax error of a `token` that is not allowed at its place.

    `reader` is at the start of the text.
    """
    stop = None if token.type == "$END" else token.start_pos
    before, expected = _expected_tokens(reader, stop)
    at = _end_position(text) if stop is None else Position(token.line or 1, token.column or 1)
    message = f"expected {_join_words(expected)}, found {_describe_token(token)}"
    if before is not None and before.type == "NAME":
        message += f"; {_hint(before)}"
    return FormulaSyntax(problem(text, FormulaCode.SYNTAX, message, at), expected)


def unexpected_character(
    text: str, error: UnexpectedCharacters, reader: InteractiveParser
) -> FormulaSyntax:
    """Return the syntax error of a character with which no token begins."""
    at = Position(error.line, error.column)
    character = error.char
    if character == "'":
        message = "expected `'` to close this text before the line ends"
        return FormulaSyntax(problem(text, FormulaCode.SYNTAX, message, at), ("`'`",))
    _, expected = _expected_tokens(reader, None)
    message = f"expected {_join_words(expected)}, found {_quote(character)}"
    if character in '"\u2018\u2019\u201c\u201d':
        message += "; text is written in single quotes: 'text'"
    return FormulaSyntax(problem(text, FormulaCode.SYNTAX, message, at), expected)


def _expected_tokens(
    reader: InteractiveParser, stop: int | None
) -> tuple[Token | None, tuple[str, ...]]:
    """Parse up to `stop` again; return the last token and the tokens that could follow it.

    The parser's state after the failure cannot be used: the parser has reduced the tokens before
    the place and no longer knows that an operator was possible.
    """
    before = None
    tokens = cast("Callable[[object], Iterator[Token]]", reader.lexer_thread.lex)
    try:
        for token in tokens(reader.parser_state):
            if token.start_pos == stop:
                break
            reader.feed_token(token)
            before = token
    except UnexpectedCharacters:
        pass
    return before, tuple(_in_words(cast("Callable[[], Set[str]]", reader.accepts)()))


def _hint(name: Token) -> str:
    if name.upper() == "SET":
        return "a variable is set as in `SET :name = 1`"
    return (
        f"`{name}` reads as a function:"
        f" a parameter is written `:{name}`, text is written `'{name}'`"
    )


def _in_words(accepts: Set[str]) -> Iterator[str]:
    values = accepts >= _VALUES
    if values:
        yield "a value (a number, 'text', a :parameter or a function)"
    elif accepts & _OPERATORS:
        yield "an operator"
    for name, words in _SIGNS.items():
        if name in accepts and not (values and name in _VALUES):
            yield words
    if accepts & _ENDS:
        yield "the end of the line"


def _join_words(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _describe_token(token: Token) -> str:
    if token.type == "$END":
        return "the end of the formula"
    if token.type == "_NEWLINE":
        return "the end of the line"
    return _quote(str(token)[:40])


def _quote(text: str) -> str:
    if text.isprintable():
        return f"`{text}`"
    return "the character " + " ".join(f"U+{ord(c):04X}" for c in text)


def _end_position(text: str) -> Position:
    read = text.rstrip()
    return Position(read.count("\n") + 1, len(read) - read.rfind("\n"))
