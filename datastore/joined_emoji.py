"""The emoji that are joined of several: each is drawn as one, and no other sequence is.

They are Unicode's RGI_Emoji_ZWJ_Sequence, fully qualified. Of a sequence that is none of these the
parts are drawn, as if nothing joined them.
"""

from typing import Final

_JOINER: Final = "\u200d"
_TONE: Final = "[\U0001f3fb-\U0001f3ff]"
_MAN: Final = "\U0001f468"
_WOMAN: Final = "\U0001f469"
_ADULT: Final = "\U0001f9d1"
_PERSON: Final = f"[{_MAN}{_WOMAN}{_ADULT}]{_TONE}?"
_HEART: Final = "\u2764\ufe0f"
_LOVED: Final = f"{_JOINER}{_HEART}{_JOINER}(?:\U0001f48b{_JOINER})?"
_HELD: Final = f"{_JOINER}\U0001f91d{_JOINER}"

_GENDER: Final = "[\u2640\u2642]\ufe0f"
_RIGHTWARDS: Final = "\u27a1\ufe0f"
_WALKERS: Final = "\U0001f3c3\U0001f6b6\U0001f9ce"
_AIDS: Final = "\U0001f9af\U0001f9bc\U0001f9bd"
"""A cane and two wheelchairs, which may face the other way, as walkers may."""

_TOOLS: Final = (
    "\U0001f33e\U0001f373\U0001f37c\U0001f393\U0001f3a4\U0001f3a8\U0001f3eb\U0001f3ed\U0001f4bb"
    "\U0001f4bc\U0001f527\U0001f52c\U0001f680\U0001f692\U0001f9b0-\U0001f9b3"
)
"""What makes a person one of a profession, and kinds of hair."""

_SIGNS_OF_PROFESSIONS: Final = "[\u2695\u2696\u2708]\ufe0f"
_GENDERED: Final = (
    "\U0001f3c3\U0001f3c4\U0001f3ca\U0001f46e\U0001f470\U0001f471\U0001f473\U0001f477\U0001f481"
    "\U0001f482\U0001f486\U0001f487\U0001f645-\U0001f647\U0001f64b\U0001f64d\U0001f64e\U0001f6a3"
    "\U0001f6b4-\U0001f6b6\U0001f926\U0001f935\U0001f937-\U0001f939\U0001f93d\U0001f93e\U0001f9b8"
    "\U0001f9b9\U0001f9cd-\U0001f9cf\U0001f9d4\U0001f9d6-\U0001f9dd"
)
_GENDERED_SIGNS: Final = "\u26f9\U0001f3cb\U0001f3cc\U0001f575"
"""Persons who are drawn as text without a selector or a tone."""

_GENDERED_WITHOUT_TONE: Final = "\U0001f46f\U0001f93c\U0001f9de\U0001f9df"
_GIRL_OR_BOY: Final = "[\U0001f466\U0001f467]"
_CHILDREN: Final = f"(?:\U0001f467(?:{_JOINER}{_GIRL_OR_BOY})?|\U0001f466(?:{_JOINER}\U0001f466)?)"
_CHILD: Final = "\U0001f9d2"

_PAIRS: Final = (
    "\U0001f408|\u2b1b",
    "\U0001f426|[\u2b1b\U0001f525]",
    f"{_HEART}|[\U0001f525\U0001fa79]",
    "\U0001f642|[\u2194\u2195]\ufe0f",
    "\U0001f415|\U0001f9ba",
    "\U0001f635|\U0001f4ab",
    "\U0001f62e|\U0001f4a8",
    "\U0001f636|\U0001f32b\ufe0f",
    "\U0001f3f4|\u2620\ufe0f",
    "\U0001f3f3\ufe0f|(?:\u26a7\ufe0f|\U0001f308)",
    "\U0001f34b|\U0001f7e9",
    "\u26d3\ufe0f|\U0001f4a5",
    "\U0001f344|\U0001f7eb",
    "\U0001f441\ufe0f|\U0001f5e8\ufe0f",
    "\U0001f43b|\u2744\ufe0f",
)
"""Animals, faces, flags and things, each of one or two."""


def _pair_with_tones(one: str, between: str, other: str, name: str) -> str:
    """Two persons of different tones; equal ones are an emoji of their own."""
    return f"{one}(?P<{name}>{_TONE}){between}{other}(?!(?P={name})){_TONE}"


def _couple(one: str, other: str) -> str:
    return f"{one}(?:{_LOVED}{other}(?!{_TONE})|{_TONE}{_LOVED}{other}{_TONE})"


JOINED_EMOJI: Final = "|".join(
    (
        f"[{_WALKERS}]{_TONE}?{_JOINER}(?:{_GENDER}{_JOINER})?{_RIGHTWARDS}",
        f"[{_GENDERED}]{_TONE}?{_JOINER}{_GENDER}",
        f"[{_GENDERED_SIGNS}](?:\ufe0f|{_TONE}){_JOINER}{_GENDER}",
        f"[{_GENDERED_WITHOUT_TONE}]{_JOINER}{_GENDER}",
        f"{_PERSON}{_JOINER}(?:[{_TOOLS}]|{_SIGNS_OF_PROFESSIONS})",
        f"{_PERSON}{_JOINER}[{_AIDS}](?:{_JOINER}{_RIGHTWARDS})?",
        f"{_ADULT}{_TONE}?{_JOINER}\U0001f384",
        _couple(_WOMAN, f"[{_MAN}{_WOMAN}]"),
        _couple(_MAN, _MAN),
        _pair_with_tones(_ADULT, _LOVED, _ADULT, "loving"),
        f"{_ADULT}{_HELD}{_ADULT}(?!{_TONE})|{_ADULT}{_TONE}{_HELD}{_ADULT}{_TONE}",
        _pair_with_tones(_WOMAN, _HELD, f"[{_MAN}{_WOMAN}]", "holding"),
        _pair_with_tones(_MAN, _HELD, _MAN, "held"),
        _pair_with_tones("\U0001faf1", _JOINER, "\U0001faf2", "shaking"),
        f"{_MAN}{_JOINER}(?:[{_MAN}{_WOMAN}]{_JOINER})?{_CHILDREN}",
        f"{_WOMAN}{_JOINER}(?:{_WOMAN}{_JOINER})?{_CHILDREN}",
        f"{_ADULT}{_JOINER}(?:{_ADULT}{_JOINER})?{_CHILD}(?:{_JOINER}{_CHILD})?",
        *(pair.replace("|", _JOINER, 1) for pair in _PAIRS),
    )
)
"""The pattern of them all; of two that begin alike the longer one is found."""

FIRST_OF_JOINED: Final = (
    f"{_MAN}{_WOMAN}{_ADULT}{_GENDERED}{_GENDERED_SIGNS}{_GENDERED_WITHOUT_TONE}\U0001faf1"
    "\U0001f408\U0001f426\u2764\U0001f642\U0001f415\U0001f635\U0001f62e\U0001f636\U0001f3f4"
    "\U0001f3f3\U0001f34b\u26d3\U0001f344\U0001f441\U0001f43b"
)
"""The characters with which they begin."""
