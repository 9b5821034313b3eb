"""The name that an archive gives its image."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bundler.errors import UsageError

_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_PATTERN = re.compile(
    rf"(?:(?P<host>[a-zA-Z0-9.-]+(?::[0-9]+)?)/)??(?P<path>{_PART}(?:/{_PART})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Reference:
    """``[host/]path[:tag]``, as Docker reads it."""

    host: str
    """Empty when none was given."""
    path: str
    tag: str

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Raise UsageError when Docker would not take ``text`` as an image's name."""
        match = _PATTERN.fullmatch(text)
        if match is None or len(text) > 255:
            hint = "use lowercase letters and digits, like 'row-max:1' or 'ghcr.io/me/row-max:1'"
            raise UsageError(f"{text!r} is not an image's name", hint=hint)
        host, path = match["host"] or "", match["path"]
        first, slash, rest = path.partition("/")
        if not host and slash and ("." in first or first == "localhost"):
            host, path = first, rest
        elif host and not ("." in host or ":" in host or host == "localhost"):
            host, path = "", f"{host}/{path}"  # Docker Hub: what looks like a host is a user
        return cls(host, path, match["tag"] or "latest")

    @property
    def short(self) -> str:
        """As ``docker images`` prints it."""
        return f"{self.host}/{self.path}:{self.tag}" if self.host else f"{self.path}:{self.tag}"

    @property
    def annotations(self) -> dict[str, str]:
        """What an index says beside an image for this to be its name."""
        return {"io.containerd.image.name": self.full, "org.opencontainers.image.ref.name": self.tag}

    @property
    def full(self) -> str:
        """With the registry that Docker takes when none is given."""
        if self.host:
            return self.short
        return f"docker.io/{self.path if '/' in self.path else 'library/' + self.path}:{self.tag}"
