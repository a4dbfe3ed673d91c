"""Rules for texts that users write, and the form in which two of them are compared."""

import re
import unicodedata
from base64 import urlsafe_b64encode
from typing import Final
from urllib.parse import unquote

from penstock.datastore.invisible_characters import INVISIBLE

_FORBIDDEN_CHARACTERS = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{}]".format(
        "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    )
)
# The maximum of Unicode's "stream-safe" form; with more combining marks on one character,
# normalising takes more than linear time.
MAX_COMBINING_MARKS = 30
SHORT_TEXT = 128
MAX_GROWTH = 2
LONGEST_NAME = 4096

_LINES = str.maketrans("\n\r\t", "   ")


def comparison_form(text: str) -> str:
    """Bring a text to NFKC, case-folded and trimmed: equal texts for users have equal forms."""
    if text.isascii():
        return text.lower().strip()
    previous = None
    while previous != text:
        previous = text
        text = unicodedata.normalize("NFKC", text).casefold().strip()
    return text


def line_problem(text: str, maximum: int) -> str | None:
    """Describe the problem of a one-line text of 1 to `maximum` characters; None without one."""
    if len(text) > maximum:
        return f"is longer than {maximum} characters"
    if not comparison_form(text):
        return "must not be empty"
    return character_problem(text)


def name_problem(text: str, maximum: int) -> str | None:
    """Describe the problem of a new name of 1 to `maximum` characters; None without one.

    Other texts of one line may have invisible characters: they name what exists already.
    """
    return line_problem(text, maximum) or name_character_problem(text)


def name_character_problem(text: str) -> str | None:
    """Describe what no new name has: an invisible character, or many that stand for several."""
    return invisible_character_problem(text) or growth_problem(text)


def invisible_character_problem(text: str) -> str | None:
    """Describe the first character that changes how a name looks without being seen itself.

    Texts beyond LONGEST_NAME are not searched: they are refused for their length.
    """
    if text.isascii() or len(text) > LONGEST_NAME:
        return None
    found = (match[0] for match in INVISIBLE.finditer(text) if match[1] is None)
    first = next(found, None)
    return None if first is None else f"holds the invisible character U+{ord(first):04X}"


def multiline_problem(text: str, maximum: int) -> str | None:
    """Describe the problem of a text that may be empty and may have several lines."""
    if len(text) > maximum:
        return f"is longer than {maximum} characters"
    return character_problem(text.translate(_LINES))


def character_problem(text: str) -> str | None:
    """Describe the first control character, lone surrogate or noncharacter; None without one."""
    if text.isprintable():
        return None
    found = _FORBIDDEN_CHARACTERS.search(text)
    return f"holds the character U+{ord(found[0]):04X}" if found else None


def replace_unprintable(text: str) -> str:
    """Replace control characters, lone surrogates and noncharacters by spaces.

    Characters that no name may have, because they are invisible, are removed.
    """
    if text.isascii() and text.isprintable():
        return text
    visible = INVISIBLE.sub(lambda match: match[1] or "", text)
    return _FORBIDDEN_CHARACTERS.sub(" ", visible)


def normalisation_problem(text: str, maximum: int) -> str | None:
    """Describe why normalising a text would take too long; None where it takes no time."""
    if len(text) > maximum:
        return f"is longer than {maximum} characters"
    if (
        len(text) > SHORT_TEXT
        and not text.isascii()
        and _longest_mark_run(text) > MAX_COMBINING_MARKS
    ):
        return f"stacks more than {MAX_COMBINING_MARKS} marks on one character"
    return None


def growth_problem(text: str) -> str | None:
    """Describe why the normal form of a text, which may be made again and again, is far longer.

    There are signs that stand for eighteen letters. A text that takes long to normalise is not
    looked at: it is refused for that.
    """
    if text.isascii() or normalisation_problem(text, LONGEST_NAME):
        return None
    if len(comparison_form(text)) > max(SHORT_TEXT, MAX_GROWTH * len(text)):
        return "has too many characters that stand for several letters"
    return None


def _longest_mark_run(text: str) -> int:
    """Count the longest run of characters that combine with the one before them."""
    classes = bytes(map(unicodedata.combining, text))
    return max(map(len, classes.split(b"\0")))


_UNSAFE = re.compile(r"[%:#\x00-\x1f\x7f-\x9f]")


def escape(text: str) -> str:
    """Percent-encode `%`, `:`, `#` and control characters; texts without these keep their order."""
    # Nearly every text is safe; these checks are much faster than the regular expression.
    if text.isprintable() and "%" not in text and ":" not in text and "#" not in text:
        return text
    return _UNSAFE.sub(lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode()), text)


def unescape(text: str) -> str:
    """Undo `escape`."""
    return unquote(text)


def say_count(count: int, one: str, many: str | None = None) -> str:
    """Say a number before words: `one` are those for 1, `many` the others, `one` with an s."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


_UUID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_id(text: str) -> bool:
    """Whether the text is a UUID in canonical form, as every id of Penstock is."""
    return _UUID.fullmatch(text) is not None


def encode_global_id(type: str, key: str) -> str:
    """Return the id by which callers know an object of a GraphQL type, from its key there."""
    return urlsafe_b64encode(f"{type}:{key}".encode()).decode()
