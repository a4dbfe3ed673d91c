"""An issuer that signs a browser in: the code flow with PKCE, with tokens that end when told to."""

import asyncio
import base64
import json
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc.jwk import ECKey

from tests.server.auth.signed_tokens import claims, ec_key, sign_claims

AUDIENCE = "penstock"
CLIENT = "console"


@dataclass
class SignInIssuer:
    """Signs everybody in as `user`, with the roles; refuses them if it is told so."""

    url: str
    key: ECKey = field(default_factory=ec_key)
    user: str = "ana"
    lasts: int = 300
    refuses: bool = False
    challenges: dict[str, str] = field(default_factory=dict)
    grants: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (
                int(line[15:])
                for line in head.splitlines()
                if line.lower()[:15] == "content-length:"
            ),
            0,
        )
        body = (await reader.readexactly(length)).decode()
        target = urlsplit(head.split(" ")[1])
        fields = {name: values[0] for name, values in parse_qs(target.query or body).items()}
        writer.write(self.answer(target.path, fields))
        writer.close()
        await writer.wait_closed()

    def answer(self, path: str, fields: dict[str, str]) -> bytes:
        if path == "/authorize":
            return redirect(f"{fields['redirect_uri']}?{urlencode(self.authorize(fields))}")
        if path == "/token":
            return answer_json(self.grant(fields))
        if path == "/jwks":
            return answer_json({"keys": [self.key.as_dict(private=False)]})
        return answer_json(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/jwks",
            }
        )

    def authorize(self, fields: dict[str, str]) -> dict[str, str]:
        assert fields["client_id"] == CLIENT
        assert (fields["response_type"], fields["code_challenge_method"]) == ("code", "S256")
        assert fields["audience"] == AUDIENCE
        if self.refuses:
            return {
                "error": "access_denied",
                "error_description": "Ana may not.",
                "state": fields["state"],
            }
        code = secrets.token_urlsafe(8)
        self.challenges[code] = fields["code_challenge"]
        return {"code": code, "state": fields["state"]}

    def grant(self, fields: dict[str, str]) -> dict[str, object]:
        """Exchange a code whose verifier fits, or a refresh token."""
        kind = fields["grant_type"]
        self.grants.append(kind)
        if kind == "authorization_code":
            digest = sha256(fields["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            assert self.challenges.pop(fields["code"]) == challenge
        else:
            assert fields["refresh_token"] == "renewal"
        token = sign_claims(self.key, claims(iss=self.url, aud=AUDIENCE, sub=self.user))
        return {
            "access_token": token,
            "token_type": "bearer",
            "expires_in": self.lasts,
            "refresh_token": "renewal",
        }


@asynccontextmanager
async def open_sign_in_issuer() -> AsyncIterator[SignInIssuer]:
    listener = socket.create_server(("127.0.0.1", 0))
    issuer = SignInIssuer(f"http://127.0.0.1:{listener.getsockname()[1]}")
    async with await asyncio.start_server(issuer.serve, sock=listener):
        yield issuer


def redirect(url: str) -> bytes:
    return f"HTTP/1.1 302 X\r\nlocation: {url}\r\nconnection: close\r\n\r\n".encode()


def answer_json(value: object) -> bytes:
    body = json.dumps(value)
    lines = (
        "HTTP/1.1 200 X",
        "content-type: application/json",
        "access-control-allow-origin: *",
        f"content-length: {len(body)}",
        "connection: close",
    )
    return "\r\n".join((*lines, "", body)).encode()
