"""Names of months and days, and the first day of the week, for the locales of AS_TIMESTAMP."""

from typing import Final

import msgspec

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.functions.short_names import cut_name

MONDAY: Final = 0
SUNDAY: Final = 6


class CalendarNames(msgspec.Struct, frozen=True, eq=False):
    """Full and short names of months and days; January and Monday have index 0.

    There is one for each language, compared by its identity: patterns are kept by it.
    """

    months: tuple[str, ...]
    short_months: tuple[str, ...]
    days: tuple[str, ...]
    short_days: tuple[str, ...]


class Locale(msgspec.Struct, frozen=True):
    """A language's names and a region's first day of the week (Monday is 0)."""

    names: CalendarNames
    week_start: int


def _names(months: str, short_months: str, days: str, short_days: str) -> CalendarNames:
    return CalendarNames(
        *(tuple(text.split()) for text in (months, short_months, days, short_days))
    )


_ENGLISH: Final = _names(
    "January February March April May June July August September October November December",
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "Mon Tue Wed Thu Fri Sat Sun",
)
_GERMAN: Final = _names(
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "Jan Feb März Apr Mai Juni Juli Aug Sept Okt Nov Dez",
    "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "Mo Di Mi Do Fr Sa So",
)
_FRENCH: Final = _names(
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "janv févr mars avr mai juin juil août sept oct nov déc",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lun mar mer jeu ven sam dim",
)
_SPANISH: Final = _names(
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "ene feb mar abr may jun jul ago sept oct nov dic",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lun mar mié jue vie sáb dom",
)
_KNOWN: Final = (
    (_ENGLISH, MONDAY, "en-GB en-IE en-NZ"),
    (_ENGLISH, SUNDAY, "en en-US en-CA en-IN en-ZA"),
    (_GERMAN, MONDAY, "de de-DE de-AT de-CH"),
    (_FRENCH, MONDAY, "fr fr-FR fr-BE fr-CH"),
    (_FRENCH, SUNDAY, "fr-CA"),
    (_SPANISH, MONDAY, "es es-ES"),
    (_SPANISH, SUNDAY, "es-MX"),
)
LOCALES: Final = {
    tag: Locale(names, week_start) for names, week_start, tags in _KNOWN for tag in tags.split()
}
_FOLDED: Final = {tag.lower(): locale for tag, locale in LOCALES.items()}
DEFAULT: Final = Locale(_ENGLISH, MONDAY)


def locale_of(tag: str | None) -> Locale:
    """Return the locale of a tag such as `en-GB` or `en_GB`; None means English with ISO weeks."""
    if tag is None:
        return DEFAULT
    found = _FOLDED.get(cut_name(tag).replace("_", "-").lower())
    if found is None:
        raise Fault(FormulaCode.UNKNOWN_LOCALE, f"the locale {tag[:20]!r} is not known")
    return found
