"""Development tokens: the key of this machine, and tokens signed with it.

Commands use them without opening the store.
"""

import json
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from penstock.datastore.roles import GroupPath, Role
from penstock.server.auth.claims import DEFAULT_GROUP_CLAIM, ROLES_CLAIM
from penstock.server.settings.key_files import BadKeyFile, make_once

DEV_USER: Final = "dev@localhost"
PREFERRED_GROUP: Final = GroupPath("/usa")
DEV_TOKEN_LIFETIME: Final = timedelta(hours=12)

DEV_ISSUER = "penstock-dev"
DEV_ALGORITHM: Final = "Ed25519"
KEY_FILE = "dev-key.json"


class BadDevKey(BadKeyFile):
    """The key file has other content, or cannot be read or created; the message names the file."""


def dev_key(data_dir: Path) -> OKPKey:
    """Return the key in the directory, created on first use; concurrent processes get the same one.

    Raises BadDevKey.
    """
    path = data_dir / KEY_FILE
    try:
        if not path.exists():
            make_once(path, _make_key)
        return _read_key(path)
    except OSError as error:
        raise BadDevKey(f"{path}: {error.strerror}") from error


def existing_dev_key(data_dir: Path) -> OKPKey | None:
    """Return the key in the directory, or None if no server has made one; raises BadDevKey."""
    return dev_key(data_dir) if (data_dir / KEY_FILE).exists() else None


def sign_dev_token(
    key: OKPKey,
    user: str,
    roles: Mapping[GroupPath, Role],
    default_group: GroupPath | None,
    ttl: timedelta,
) -> str:
    """Sign a token for servers with the same key and no issuer; times are whole seconds."""
    claims: dict[str, object] = {
        "sub": user,
        ROLES_CLAIM: {group: role.name.lower() for group, role in roles.items()},
    }
    if default_group is not None:
        claims[DEFAULT_GROUP_CLAIM] = default_group
    return sign_dev_claims(key, DEV_ISSUER, claims, ttl)


def sign_dev_claims(
    key: OKPKey, audience: str, claims: Mapping[str, object], ttl: timedelta
) -> str:
    """Sign the claims for an audience; the API accepts no other audience than DEV_ISSUER."""
    now = int(time.time())
    common = {"iss": DEV_ISSUER, "aud": audience, "iat": now, "exp": now + int(ttl.total_seconds())}
    header = {"alg": DEV_ALGORITHM, "typ": "JWT", "kid": key.kid}
    return jwt.encode(header, {**common, **claims}, key, algorithms=[DEV_ALGORITHM])


def _read_key(path: Path) -> OKPKey:
    try:
        key = OKPKey.import_key(json.loads(path.read_bytes()))
        if key.curve_name == DEV_ALGORITHM and key.is_private and key.kid:
            return key
    except (JoseError, ValueError, TypeError, KeyError, RecursionError):
        pass
    raise BadDevKey(f"{path} holds no {DEV_ALGORITHM} key; remove it and one will be made.")


def _make_key() -> bytes:
    key = OKPKey.generate_key(DEV_ALGORITHM, auto_kid=True)
    return json.dumps(key.as_dict(private=True)).encode()
