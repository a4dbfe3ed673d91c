"""The characters that nobody sees in a name, and the few places in which scripts need them."""

import re
from collections import Counter
from itertools import chain
from typing import Final
from unicodedata import decomposition, normalize

from penstock.datastore.joined_emoji import FIRST_OF_JOINED, JOINED_EMOJI

_WITHOUT_SHAPE: Final = (
    # Unicode's Default_Ignorable_Code_Point: marks of direction, joiners, fillers, selectors, tags
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
    # ends of lines, marks of annotations, and the composition of hieroglyphs
    "\u2028\u2029\ufff9-\ufffb\U00013430-\U0001345f"
    # letters and signs that are drawn as nothing
    "\u2800\U00016fe4\U0001d159"
)
_VIRAMAS: Final = (
    "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84"
    "\u1039\u103a\u1714\u1715\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c"
    "\ua8c4\ua953\ua9c0\uaaf6\uabed\U00010a3f\U00011046\U00011070\U0001107f\U000110b9\U00011133"
    "\U00011134\U000111c0\U00011235\U000112ea\U0001134d\U00011442\U000114c2\U000115bf\U0001163f"
    "\U000116b6\U0001172b\U00011839\U0001193d\U0001193e\U000119e0\U00011a34\U00011a47\U00011a99"
    "\U00011c3f\U00011d44\U00011d45\U00011d97"
)
"""Signs that take a letter its vowel, so that it joins the next one or not."""

_JOINED_LETTERS: Final = (
    "\u0600-\u0dff\u1000-\u109f\u1780-\u18af\u1900-\u1cff\ua840-\uabff\U00010a00-\U00011fff"
)
"""Letters of scripts in which a joiner behind a virama changes how neighbours are drawn."""

_JOINED_BEFORE_VIRAMA: Final = "\u09b0\u0cb0\u0d9a-\u0dc6"
"""Letters of Bengali, Kannada and Sinhala that a joiner before the virama keeps whole."""

_JOINING_ONWARDS: Final = (
    "\u0620\u0626\u0628\u062a-\u062e\u0633-\u063f\u0641-\u0647\u0649\u064a\u066e\u066f"
    "\u0678-\u0687\u069a-\u06bf\u06c1\u06c2\u06cc\u06ce\u06d0\u06d1\u06fa-\u06fc\u06ff"
    "\u0712-\u0714\u071a-\u071d\u071f-\u0727\u0729\u072b\u072d\u072e\u074e-\u0758\u075c-\u076a"
    "\u076d-\u0770\u0772\u0775-\u0777\u077a-\u077f\u07ca-\u07ea\u0841-\u0845\u0848\u084a-\u0853"
    "\u0855\u0860\u0862-\u0865\u0868\u0886\u0889-\u088d\u08a0-\u08a9\u08af\u08b0\u08b3-\u08b8"
    "\u08ba-\u08c8\u1807\u1820-\u1878\u1887-\u18a8\u18aa\ua840-\ua872\U00010ac0-\U00010ac4"
    "\U00010acd\U00010ad3-\U00010adc\U00010ade-\U00010ae0\U00010aeb-\U00010aee\U00010b80\U00010b82"
    "\U00010b86-\U00010b88\U00010b8a\U00010b8b\U00010b8d\U00010b90\U00010bad\U00010bae"
    "\U00010d00-\U00010d21\U00010d23\U00010f30-\U00010f32\U00010f34-\U00010f44"
    "\U00010f51-\U00010f53\U00010f70-\U00010f73\U00010f76-\U00010f81\U00010fb0\U00010fb2\U00010fb3"
    "\U00010fb8\U00010fbb\U00010fbc\U00010fbe\U00010fbf\U00010fc1\U00010fc4\U00010fca\U00010fcb"
    "\U0001e900-\U0001e943"
)
"""Letters of joined scripts that join the next one: Unicode's Joining_Type L and D."""

_JOINING_BACK: Final = (
    "\u0620\u0622-\u063f\u0641-\u064a\u066e\u066f\u0671-\u0673\u0675-\u06d3\u06d5\u06ee\u06ef"
    "\u06fa-\u06fc\u06ff\u0710\u0712-\u072f\u074d-\u077f\u07ca-\u07ea\u0840-\u0858\u0860"
    "\u0862-\u0865\u0867-\u086a\u0870-\u0882\u0886\u0889-\u088e\u08a0-\u08ac\u08ae-\u08c8\u1807"
    "\u1820-\u1878\u1887-\u18a8\u18aa\ua840-\ua871\U00010ac0-\U00010ac5\U00010ac7\U00010ac9"
    "\U00010aca\U00010ace-\U00010ad6\U00010ad8-\U00010ae1\U00010ae4\U00010aeb-\U00010aef"
    "\U00010b80-\U00010b91\U00010ba9-\U00010bae\U00010d01-\U00010d23\U00010f30-\U00010f44"
    "\U00010f51-\U00010f54\U00010f70-\U00010f81\U00010fb0\U00010fb2-\U00010fb6"
    "\U00010fb8-\U00010fbf\U00010fc1-\U00010fc4\U00010fc9\U00010fca\U0001e900-\U0001e943"
)
"""Letters of joined scripts that join the one before: Unicode's Joining_Type R and D."""

_MARKS_BETWEEN: Final = (
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711"
    "\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u07fd\u0816-\u0819\u081b-\u0823\u0825-\u0827"
    "\u0829-\u082d\u0859-\u085b\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff\u1885\u1886\u18a9"
    "\U00010a01-\U00010a03\U00010a05\U00010a06\U00010a0c-\U00010a0f\U00010a38-\U00010a3a\U00010a3f"
    "\U00010ae5\U00010ae6\U00010d24-\U00010d27\U00010eab\U00010eac\U00010f46-\U00010f50"
    "\U00010f82-\U00010f85\U0001e944-\U0001e94a"
)
"""Marks of these scripts between two letters that join: Unicode's Joining_Type T."""

_TEXT_SIGNS: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u2328\u23cf\u23ed-\u23ef\u23f1"
    "\u23f2\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb\u25fc\u2600-\u2604\u260e\u2611\u2618"
    "\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u265f\u2660\u2663"
    "\u2665\u2666\u2668\u267b\u267e\u2692\u2694-\u2697\u2699\u269b\u269c\u26a0\u26a7\u26b0\u26b1"
    "\u26c8\u26cf\u26d1\u26d3\u26e9\u26f0\u26f1\u26f4\u26f7-\u26f9\u2702\u2708\u2709\u270c\u270d"
    "\u270f\u2712\u2714\u2716\u271d\u2721\u2733\u2734\u2744\u2747\u2763\u2764\u27a1\u2934\u2935"
    "\u2b05-\u2b07\u3030\u303d\u3297\u3299\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f202"
    "\U0001f237\U0001f321\U0001f324-\U0001f32c\U0001f336\U0001f37d\U0001f396\U0001f397"
    "\U0001f399-\U0001f39b\U0001f39e\U0001f39f\U0001f3cb-\U0001f3ce\U0001f3d4-\U0001f3df\U0001f3f3"
    "\U0001f3f5\U0001f3f7\U0001f43f\U0001f441\U0001f4fd\U0001f549\U0001f54a\U0001f56f\U0001f570"
    "\U0001f573-\U0001f579\U0001f587\U0001f58a-\U0001f58d\U0001f590\U0001f5a5\U0001f5a8\U0001f5b1"
    "\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de\U0001f5e1"
    "\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3\U0001f5fa\U0001f6cb\U0001f6cd-\U0001f6cf"
    "\U0001f6e0-\U0001f6e5\U0001f6e9\U0001f6f0\U0001f6f3"
)
"""Signs that are drawn as emoji with a selector only: Emoji, but not Emoji_Presentation."""

_PICTURES: Final = (
    "\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1"
    "\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705"
    "\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50"
    "\u2b55"
)
"""Emoji that are drawn as text with a selector only."""

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003347f"
_WIDE_SIGNS: Final = "\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f"
_DOTTED_MYANMAR: Final = (
    "\u1000\u1002\u1004\u1010\u1011\u1015\u1019-\u101d\u1022\u1031\u1075\u1078\u107a\u1080"
)
_VARIED_LETTERS: Final = (
    "\ua856\ua85c\ua85e-\ua860\ua868\U00010ac5\U00010ac6\U00010ad6\U00010ad7\U00010ae1"
)
"""Letters of Phags-pa and Manichaean."""

_FLAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region)
    for region in ("gbeng", "gbsct", "gbwls")
)
"""The tags of the flags of England, Scotland and Wales; no other flag is drawn from tags."""

_MONGOLIAN_FORMS: Final = (
    (
        "\u180b",
        "\u1820-\u1826\u1828\u182a\u182c\u182d\u1830\u1832\u1833\u1835\u1836\u1838\u1844-\u1849"
        "\u184d\u184e\u185d\u185e\u1860\u1863\u1868\u1869\u186f\u1873\u1874\u1876\u1880\u1881\u1887\u1888"
        "\u188a",
    ),
    (
        "\u180c",
        "\u1820\u1825\u1826\u1828\u182c\u182d\u1830\u1836\u1847\u185e\u1868\u1873\u1874\u1887",
    ),
    ("\u180d", "\u1828\u182c\u182d\u1873\u1874\u1887"),
)
"""The selectors of Mongolian, each with the letters that have another form by it."""


def _find_older_shapes() -> list[str]:
    """The letters of Han that have an older shape, and those with a second and a third one.

    Each was a letter of its own, whose normal form is the letter alone.
    """
    older = chain(range(0xF900, 0xFB00), range(0x2F800, 0x2FA20))
    found = Counter(normalize("NFC", chr(code)) for code in older if decomposition(chr(code)))
    return ["".join(one for one, count in found.items() if count > n) for n in range(3)]


_OLDER_SHAPES: Final = zip("\ufe00\ufe01\ufe02", _find_older_shapes(), strict=True)
_BETWEEN_JOINED: Final = "|".join(
    f"(?<=[{_JOINING_ONWARDS}]{marks})\u200c"
    for marks in ("", *(f"[{_MARKS_BETWEEN}]" * n for n in (1, 2)))
)

_NEEDED: Final = "|".join(
    (
        f"(?<=[{_VIRAMAS}])[\u200c\u200d](?=[{_JOINED_LETTERS}])",
        f"(?<=[{_JOINED_BEFORE_VIRAMA}])\u200d(?=[{_VIRAMAS}])",
        f"(?:{_BETWEEN_JOINED})(?=[{_MARKS_BETWEEN}]*[{_JOINING_BACK}])",
        "(?<=[\u17c9\u17ca])[\u200c\u200d](?=[\u17b6-\u17c5])",
        f"(?<=[{_TEXT_SIGNS}])\ufe0f(?![\U0001f3fb-\U0001f3ff])",
        f"(?<=[{_PICTURES}])\ufe0e",
        "(?<=[#*0-9])\ufe0f(?=\u20e3)",
        "(?<=[\u1820-\u1842])\u180e(?=[\u1820\u1821])",
        *(f"(?<=[{letters}]){selector}" for selector, letters in _MONGOLIAN_FORMS),
        *(f"(?<=[{letters}]){selector}" for selector, letters in _OLDER_SHAPES),
        f"(?<=[{_HAN}])[\U000e0100-\U000e01ef]",
        f"(?<=[{_WIDE_SIGNS}])[\ufe00\ufe01]",
        f"(?<=[{_DOTTED_MYANMAR}{_VARIED_LETTERS}])\ufe00",
        f"(?<=\U0001f3f4)(?:{_FLAGS})\U000e007f",
    )
)

_BEGIN: Final = f"[{_WITHOUT_SHAPE}]|[{FIRST_OF_JOINED}][\ufe0f\U0001f3fb-\U0001f3ff]?\u200d"

# The look ahead passes over all other characters without a look at what stands before them.
INVISIBLE: Final = re.compile(f"(?={_BEGIN})(?:({JOINED_EMOJI}|{_NEEDED})|[{_WITHOUT_SHAPE}])")
"""Group 1 is a use that a script, an emoji or a flag needs, and all of an emoji that is joined."""
