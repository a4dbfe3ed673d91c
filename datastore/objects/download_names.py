"""Names under which files are saved."""

import re
from urllib.parse import quote

from penstock.datastore.objects.port import FILE_NAME_BYTES


def file_name_for(stem: str, suffix: str) -> str:
    """The name of a download: as much of a stem as `check_download` accepts, and a suffix."""
    plain = re.sub(r"[/\\]|\$\{", "-", stem)
    room = FILE_NAME_BYTES - len(suffix.encode())
    return plain.encode()[:room].decode(errors="ignore") + suffix


def content_disposition(filename: str) -> str:
    """The Content-Disposition header that saves under this name, in ASCII too for old clients."""
    plain = re.sub(r'[^ -~]|["\\%]', "_", filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
