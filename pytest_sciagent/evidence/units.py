"""Units as reports and column names write them: found after a number, read off a column's name, converted by pint."""

from __future__ import annotations

import re
from functools import cache, lru_cache

_SYMBOLS = (
    r"m|km|cm|mm|µm|μm|um|nm|pm|Å|AU|au|pc|kpc|Mpc|Gpc|ly|ft|mi|s|ms|µs|μs|us|ns|ps|min|h|hr|hrs|d|wk|y|yr|yrs|kyr"
    r"|Myr|Gyr|ka|Ma|Ga|g|kg|mg|µg|μg|ug|ng|t|Da|kDa|K|mK|°C|°F|degC|degF|°|deg|Hz|kHz|MHz|GHz|THz|J|kJ|MJ|mJ|cal"
    r"|kcal|eV|keV|MeV|GeV|TeV|meV|W|kW|MW|GW|mW|Pa|hPa|kPa|MPa|GPa|bar|mbar|atm|V|mV|kV|A|mA|µA|μA|Ω|T|mT|nT|G|C"
    r"|N|kN|mol|mmol|µmol|μmol|umol|nmol|M|mM|µM|μM|uM|nM|ppm|ppb|ppt|ppmv|ppbv|L|mL|ml|µL|μL|ha|dex|mag|mas"
    r"|arcsec|arcmin|rad|mrad|sr|bp|kb|Mb|Gb|nt|aa|dB|px|Jy|mJy|σ|Msun|Lsun|Rsun"
)
_WORDS = (
    r"years?|months?|weeks?|days?|hours?|minutes?|seconds?|decades?|century|centuries|metres?|meters?|kilometres?"
    r"|kilometers?|millimetres?|millimeters?|grams?|kilograms?|degrees?|units?|percent|pixels?|magnitudes?|sigmas?"
    r"|pp|standard\sdeviations?|index\sunits?|percentage\spoints?"
)
_SPACE = "[ \u00a0\u2009\u202f]"
_ATOM = f"{_SYMBOLS}|{_WORDS}"
# A bare digit is a power only of units that are not mistaken for names: m2 and cm3, but not s1 or g2.
_POWER = r"(?:\^\{?[-−+]?[1-9]\}?|[⁻⁺]?[¹²³⁴-⁹]|[-−][1-4]|\*\*-?[1-9]|(?:(?<=m)|(?<=[A-Za-zµ]{2}))[2-4])"
# A symbol ends where no letter or digit follows, and no hyphen that begins a word (as in "T-test").
_END = r"(?![\w]|-[A-Za-z])"
_POWERED = rf"(?:(?:{_ATOM}){_POWER}?{_END})"
_SEPARATOR = rf"(?:{_SPACE}?[/·⋅*]{_SPACE}?|{_SPACE}per{_SPACE}(?:[0-9]{{1,6}}{_SPACE})?)"
_SPACED = rf"(?:{_SPACE}(?=(?:{_ATOM})(?:\^?\{{?[-−⁻]|\*\*-)))"
_FURTHER = rf"(?:(?:{_SEPARATOR}|{_SPACED}){_POWERED})"
UNIT = re.compile(rf"(?:{_SPACE}|-)?(?P<unit>{_POWERED}{_FURTHER}*)|(?P<rate>{_SEPARATOR}{_POWERED}{_FURTHER}*)")
"""A unit right after a number; `rate` where it begins with "per" or a stroke."""

_LONGEST_NAME = 60
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,30})[)\]]\s*$")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
# pint knows "decade" as a logarithmic unit; here it is a stretch of time.
_DECADE = "ten_years"
_ALIASES = {
    "decade": _DECADE,
    "decades": _DECADE,
    "y": "year",
    "yrs": "year",
    "hrs": "hour",
    "μ": "µ",
    "Ma": "Myr",
    "Ga": "Gyr",
    "ka": "kyr",
    "wk": "week",
}
_POWER_OF = re.compile(r"(?<=[A-Za-zµΩ°Å])\^?([-+]?[0-9])")


def unit_after(text: str, position: int) -> tuple[str, int] | None:
    """The unit that stands at `position` of `text`, and where it ends; None if there is none."""
    found = UNIT.match(text, position)
    if found is None:
        return None
    return (found["unit"] or found["rate"]).strip(), found.end()


def unit_of_column(name: str) -> str | None:
    """The unit that a column's name carries: `mass_g`, `growth_ppm_per_yr`, `lag (ms)`; None if none."""
    return _unit_of(name[-_LONGEST_NAME:])


@lru_cache(4096)
def _unit_of(name: str) -> str | None:
    bracketed = _IN_BRACKETS.search(name)
    if bracketed is not None:
        return _whole(bracketed[1].strip())
    parts = name.split("_")
    for start in range(1, len(parts)):
        unit = _whole(" ".join(parts[start:]))
        if unit is not None:
            return unit
    return None


def _whole(text: str) -> str | None:
    found = UNIT.fullmatch(text)
    return text if found is not None and found["unit"] == text else None


@lru_cache(4096)
def factor(source: str, target: str) -> float | None:
    """What a value in `source` is multiplied by to be in `target`; None if that is unknown or not a mere factor."""
    import pint

    if UNIT.fullmatch(source) is None or UNIT.fullmatch(target) is None:
        return None
    registry = _registry()
    try:
        zero, one = (registry.Quantity(value, _plain(source)).to(_plain(target)).magnitude for value in (0.0, 1.0))
    except (pint.PintError, AttributeError, ValueError, TypeError, ArithmeticError, AssertionError):
        return None
    return float(one) if zero == 0 else None


@cache
def _registry() -> pint.UnitRegistry[float]:  # type: ignore[name-defined] # noqa: F821 - imported only when needed
    import pint

    registry: pint.UnitRegistry[float] = pint.UnitRegistry()
    registry.define(f"{_DECADE} = 10 * year")
    return registry


def _plain(unit: str) -> str:
    """`unit` as pint writes it: ASCII powers, `*` and `/`."""
    text = re.sub(rf"{_SPACE}?per{_SPACE}", "/", unit.translate(_SUPERSCRIPTS))
    text = _POWER_OF.sub(r"**(\1)", text.replace("{", "").replace("}", "").replace("**", "^"))
    text = re.sub(rf"{_SPACE}?[·⋅]{_SPACE}?", "*", text)
    text = re.sub(r"[A-Za-zµμ]+", lambda word: _ALIASES.get(word[0], word[0]), text)
    text = re.sub(r"(?<=[\w)]) (?=[A-Za-z])", "*", text)
    return f"1{text}" if text.startswith("/") else text
