"""The characters that nobody sees in a name, and the few places in which scripts need them."""

import re
from itertools import groupby
from typing import Final
from unicodedata import category

_WITHOUT_SHAPE: Final = (
    # Unicode's Default_Ignorable_Code_Point: marks of direction, joiners, fillers, selectors, tags
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
    # ends of lines, marks of annotations, and the composition of hieroglyphs
    "\u2028\u2029\ufff9-\ufffb\U00013430-\U0001345f"
    # letters and signs that are drawn as nothing
    "\u2800\U00016fe4\U0001d159"
    # joiners of one script each
    "\u2d7f\U0001107f"
)
_JOINED_SCRIPTS: Final = (
    range(0x0600, 0x0E00),
    range(0x1000, 0x10A0),
    range(0x1780, 0x18B0),
    range(0x1900, 0x1D00),
    range(0xA840, 0xAC00),
    range(0x10A00, 0x12000),
)


def _select_letters(blocks: tuple[range, ...]) -> str:
    """Return the ranges of letters and marks in the blocks: not their digits, nor their stops."""
    shapeless = re.compile(f"[{_WITHOUT_SHAPE}]")
    codes = [
        code
        for block in blocks
        for code in block
        if category(chr(code))[0] in "LM" and not shapeless.match(chr(code))
    ]
    runs = groupby(enumerate(codes), lambda numbered: numbered[1] - numbered[0])
    found = [[code for _, code in run] for _, run in runs]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in found)


_JOINED_LETTERS: Final = _select_letters(_JOINED_SCRIPTS)
"""Letters of scripts in which a joiner, or its opposite, changes how neighbours are drawn."""

_EMOJI: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9-\u21aa\u231a-\u231b\u2328\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa-\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e"
    "\u2611\u2614-\u2615\u2618\u261d\u2620\u2622-\u2623\u2626\u262a\u262e-\u262f\u2638-\u263a"
    "\u2640\u2642\u2648-\u2653\u265f-\u2660\u2663\u2665-\u2666\u2668\u267b\u267e-\u267f"
    "\u2692-\u2697\u2699\u269b-\u269c\u26a0-\u26a1\u26a7\u26aa-\u26ab\u26b0-\u26b1\u26bd-\u26be"
    "\u26c4-\u26c5\u26c8\u26ce-\u26cf\u26d1\u26d3-\u26d4\u26e9-\u26ea\u26f0-\u26f5\u26f7-\u26fa"
    "\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2728\u2733-\u2734\u2744"
    "\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2764\u2795-\u2797\u27a1\u27b0\u27bf"
    "\u2934-\u2935\u2b05-\u2b07\u2b1b-\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f004"
    "\U0001f0cf\U0001f170-\U0001f171\U0001f17e-\U0001f17f\U0001f18e\U0001f191-\U0001f19a"
    "\U0001f1e6-\U0001f1ff\U0001f201-\U0001f202\U0001f21a\U0001f22f\U0001f232-\U0001f23a"
    "\U0001f250-\U0001f251\U0001f300-\U0001f321\U0001f324-\U0001f393\U0001f396-\U0001f397"
    "\U0001f399-\U0001f39b\U0001f39e-\U0001f3f0\U0001f3f3-\U0001f3f5\U0001f3f7-\U0001f4fd"
    "\U0001f4ff-\U0001f53d\U0001f549-\U0001f54e\U0001f550-\U0001f567\U0001f56f-\U0001f570"
    "\U0001f573-\U0001f57a\U0001f587\U0001f58a-\U0001f58d\U0001f590\U0001f595-\U0001f596"
    "\U0001f5a4-\U0001f5a5\U0001f5a8\U0001f5b1-\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4"
    "\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3"
    "\U0001f5fa-\U0001f64f\U0001f680-\U0001f6c5\U0001f6cb-\U0001f6d2\U0001f6d5-\U0001f6d8"
    "\U0001f6dc-\U0001f6e5\U0001f6e9\U0001f6eb-\U0001f6ec\U0001f6f0\U0001f6f3-\U0001f6fc"
    "\U0001f7e0-\U0001f7eb\U0001f7f0\U0001f90c-\U0001f93a\U0001f93c-\U0001f945"
    "\U0001f947-\U0001f9ff\U0001fa70-\U0001faff"
)
"""Unicode's property Emoji, without digits and signs."""

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

_NEEDED: Final = "|".join(
    (
        f"(?<=[{_JOINED_LETTERS}])[\u200c\u200d](?=[{_JOINED_LETTERS}])",
        "(?<=[\u2d30-\u2d67])\u2d7f(?=[\u2d30-\u2d67])",
        "(?<=[\U00011052-\U00011065])\U0001107f(?=[\U00011052-\U00011065])",
        f"(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])",
        f"(?<=[{_EMOJI}]\ufe0f)\u200d(?=[{_EMOJI}])",
        f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]",
        "(?<=[#*0-9])\ufe0f(?=\u20e3)",
        "(?<=[\u1820-\u18aa])[\u180b-\u180f]",
        f"(?<=[{_HAN}])[\ufe00-\ufe02\U000e0100-\U000e01ef]",
        f"(?<=[{_WIDE_SIGNS}])[\ufe00\ufe01]",
        f"(?<=[{_DOTTED_MYANMAR}{_VARIED_LETTERS}])\ufe00",
        "(?<=[\U00013000-\U0001342f])[\ufe00-\ufe06]",
        f"(?<=\U0001f3f4)(?:{_FLAGS})\U000e007f",
    )
)

# The look ahead passes over all other characters without a look at what stands before them.
INVISIBLE: Final = re.compile(f"(?=[{_WITHOUT_SHAPE}])(?:({_NEEDED})|[{_WITHOUT_SHAPE}])")
"""Group 1 is a use that a script, an emoji or a flag needs."""
