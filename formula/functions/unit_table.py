"""The units that CONVERT knows. A line is: labels | symbols | size in the kind's first unit.

All others come from the registry of pint, by `tests/formula/functions/make_unit_registry.py`.

Sizes are exact by definition, as fractions where no decimal is exact. A temperature also has the
offset of its zero. Symbols are written as they stand, because `Mg` and `mg` are two units; labels
may have any case. A label shared by two units is ambiguous on purpose: `gallon` alone does not say
which one.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias

import msgspec

_POUND: Final = "0.45359237"
_TABLE: Final[Mapping[str, str]] = {
    "Length": """
        metre, meter | m | 1
        megametre, megameter | Mm | 1000000
        kilometre, kilometer | km | 1000
        decimetre, decimeter | dm | 0.1
        centimetre, centimeter | cm | 0.01
        millimetre, millimeter | mm | 0.001
        micrometre, micrometer | µm, um | 0.000001
        mile, international mile | mi | 1609.344
        nautical mile | nmi | 1852
        yard | yd | 0.9144
        foot | ft | 0.3048
        inch | in | 0.0254""",
    "Mass": f"""
        kilogram | kg | 1
        gram | g | 0.001
        milligram | mg | 0.000001
        megagram | Mg | 1000
        microgram | µg, ug | 0.000000001
        tonne, metric ton | t | 1000
        kilotonne | kt | 1000000
        pound, pound mass | lb, lbm | {_POUND}
        ounce, ounce mass | oz | 0.028349523125
        stone | st | 6.35029318
        short ton, us ton, ton | ton (US) | 907.18474
        long ton, imperial ton, ton | ton (UK) | 1016.0469088""",
    "Volume": """
        cubic metre, cubic meter | m³, m3 | 1
        megalitre, megaliter | ML, Ml | 1000
        kilolitre, kiloliter | kL, kl | 1
        hectolitre, hectoliter | hL, hl | 0.1
        litre, liter | L, l | 0.001
        decilitre, deciliter | dL, dl | 0.0001
        centilitre, centiliter | cL, cl | 0.00001
        millilitre, milliliter | mL, ml | 0.000001
        cubic centimetre, cubic centimeter | cm³, cm3 | 0.000001
        cubic foot | ft³, ft3 | 0.028316846592
        cubic inch | in³, in3 | 0.000016387064
        us gallon, gallon | gal (US) | 0.003785411784
        imperial gallon, uk gallon, gallon | gal (UK) | 0.00454609
        us quart | qt (US) | 0.000946352946
        us pint, pint | pt (US) | 0.000473176473
        imperial pint, uk pint, pint | pt (UK) | 0.00056826125
        us fluid ounce | fl oz (US) | 0.0000295735295625
        oil barrel, barrel | bbl | 0.158987294928""",
    "Energy": """
        joule | J | 1
        kilojoule | kJ | 1000
        megajoule | MJ | 1000000
        gigajoule | GJ | 1000000000
        terajoule | TJ | 1000000000000
        watt hour | Wh, W·h | 3600
        kilowatt hour, kilowatthour | kWh, kW·h | 3600000
        megawatt hour, megawatthour | MWh, MW·h | 3600000000
        gigawatt hour, gigawatthour | GWh, GW·h | 3600000000000
        thermochemical calorie, calorie | cal | 4.184
        kilocalorie, large calorie | kcal, Cal | 4184
        british thermal unit | Btu, BTU | 1055.05585262
        million british thermal units | MMBtu, MMBTU | 1055055852.62
        therm | thm | 105505585.262
        tonne of oil equivalent | toe | 41868000000""",
    "Temperature": """
        kelvin | K | 1
        celsius, degree celsius | °C, degC | 1 | 273.15
        fahrenheit, degree fahrenheit | °F, degF | 5/9 | 459.67
        rankine, degree rankine | °R, degR | 5/9""",
    "Time": """
        second | s | 1
        megasecond | Ms | 1000000
        kilosecond | ks | 1000
        millisecond | ms | 0.001
        minute | min | 60
        hour | h | 3600
        day | d | 86400
        week | wk | 604800""",
    "Area": """
        square metre, square meter | m², m2 | 1
        square kilometre, square kilometer | km², km2 | 1000000
        square centimetre, square centimeter | cm², cm2 | 0.0001
        hectare | ha | 10000
        acre, international acre | ac | 4046.8564224
        square mile | mi², mi2 | 2589988.110336
        square yard | yd², yd2 | 0.83612736
        square foot | ft², ft2 | 0.09290304
        square inch | in², in2 | 0.00064516""",
    "Power": """
        watt | W | 1
        milliwatt | mW | 0.001
        kilowatt | kW | 1000
        megawatt | MW | 1000000
        gigawatt | GW | 1000000000
        mechanical horsepower, horsepower | hp | 745.69987158227022
        metric horsepower, horsepower | PS | 735.49875""",
    "Pressure": """
        pascal | Pa | 1
        hectopascal | hPa | 100
        kilopascal | kPa | 1000
        megapascal | MPa | 1000000
        bar | bar | 100000
        millibar | mbar | 100
        standard atmosphere, atmosphere | atm | 101325
        torr | Torr | 20265/152
        pound force per square inch | psi | 8896443230521/1290320000""",
    "Velocity": """
        metre per second, meter per second | m/s | 1
        kilometre per hour, kilometer per hour | km/h | 5/18
        mile per hour | mi/h, mph | 0.44704
        foot per second | ft/s | 0.3048
        knot | kn | 463/900""",
}


DIMENSIONS: Final = (
    *("length", "mass", "time", "temperature"),
    *("current", "substance", "luminosity"),
)
"""The dimensions of SI; a kind's first unit is the product of their units with its exponents."""

Exponents: TypeAlias = tuple[int, ...]
_KIND_EXPONENTS: Final[Mapping[str, Exponents]] = {
    "Length": (1, 0, 0, 0, 0, 0, 0),
    "Mass": (0, 1, 0, 0, 0, 0, 0),
    "Volume": (3, 0, 0, 0, 0, 0, 0),
    "Energy": (2, 1, -2, 0, 0, 0, 0),
    "Temperature": (0, 0, 0, 1, 0, 0, 0),
    "Time": (0, 0, 1, 0, 0, 0, 0),
    "Area": (2, 0, 0, 0, 0, 0, 0),
    "Power": (2, 1, -3, 0, 0, 0, 0),
    "Pressure": (-1, 1, -2, 0, 0, 0, 0),
    "Velocity": (1, 0, -1, 0, 0, 0, 0),
}


class Unit(msgspec.Struct, frozen=True):
    """A unit: a value `v` of it is `(v + offset) * size` in units of SI, exactly."""

    labels: tuple[str, ...]
    symbols: tuple[str, ...]
    exponents: Exponents
    size: Fraction
    offset: Fraction = Fraction(0)

    @property
    def kind(self) -> str:
        """The kind of quantity, or its dimensions if they have no name here."""
        return name_kind(self.exponents)


def name_kind(exponents: Exponents) -> str:
    """Return the name of the kind with these dimensions, or else the dimensions."""
    named = next((one for one, found in _KIND_EXPONENTS.items() if found == exponents), None)
    powers = zip(DIMENSIONS, exponents, strict=True)
    parts = [name if n == 1 else f"{name}^{n}" for name, n in powers if n]
    return named or " ".join(parts) or "ratio"


def _unit(kind: str, line: str) -> Unit:
    labels, symbols, size, *offset = (cell.strip() for cell in line.split("|"))
    return Unit(
        tuple(labels.split(", ")),
        tuple(symbols.split(", ")),
        _KIND_EXPONENTS[kind],
        Fraction(size),
        Fraction(offset[0] if offset else 0),
    )


UNITS: Final = tuple(
    _unit(kind, line) for kind, lines in _TABLE.items() for line in lines.strip().split("\n")
)
KINDS: Final = tuple(_TABLE)


@cache
def registry_units() -> tuple[Unit, ...]:
    """Return the units of pint's registry that the table does not have, with exact sizes."""
    text = files(__package__ or "").joinpath("unit_registry.txt").read_text("utf-8")
    return tuple(map(_registry_unit, text.splitlines()))


def _registry_unit(line: str) -> Unit:
    labels, symbols, exponents, size = (cell.strip() for cell in line.split("|"))
    return Unit(
        tuple(filter(None, labels.split(", "))),
        tuple(filter(None, symbols.split(", "))),
        tuple(map(int, exponents.split())),
        Fraction(size),
    )
