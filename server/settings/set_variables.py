"""The settings that environment variables set."""

from typing import Any

from pydantic_settings import EnvSettingsSource


class SetVariables(EnvSettingsSource):
    """Reads the variables that are set, each as its text.

    pydantic-settings examines the type of every setting for each source, also of those that nobody
    set: that takes most of the time of reading settings. No setting here has a form in JSON.
    """

    def __call__(self) -> dict[str, Any]:
        found = {
            name: self.env_vars.get(f"{self.env_prefix}{name}".lower())
            for name in self.settings_cls.model_fields
        }
        return {name: value for name, value in found.items() if value is not None}
