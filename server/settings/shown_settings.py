"""The settings as administrators see them: without secrets."""

from collections.abc import Iterable

from pydantic import SecretStr

from penstock.datastore.store_parts import ShownSetting
from penstock.server.settings.invalid_settings import PREFIX
from penstock.server.settings.secure_urls import HIDDEN, hide_credentials
from penstock.server.settings.settings import Settings


def show_settings(settings: Settings) -> tuple[ShownSetting, ...]:
    """Return all settings by name; a secret, also one in a URL, is hidden."""
    shown = (
        ShownSetting(
            f"{PREFIX}{name.upper()}",
            _text_of(getattr(settings, name)),
            is_default=getattr(settings, name) == field.get_default(call_default_factory=True),
        )
        for name, field in Settings.model_fields.items()
    )
    return tuple(sorted(shown, key=lambda one: one.name))


def _text_of(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, SecretStr):
        return HIDDEN
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(hide_credentials(str(one)) for one in value)
    return hide_credentials(str(value))
