"""What a person writes of a runtime: ``runtime.yaml``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from bundler.errors import BadDataError, UnavailableError

FILE_NAME = "runtime.yaml"

Model = TypeVar("Model", bound=BaseModel)

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]
Pattern = Annotated[str, StringConstraints(pattern=r"^[^/]", min_length=1)]


class Frozen(BaseModel):
    """Unknown keys are mistakes; values never change."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Debian(Frozen):
    """The lowest layer."""

    suite: Name
    architecture: Literal["amd64"]
    packages: tuple[Package, ...]
    """Asked for; Debian's essential packages, and what these depend on, come with them."""
    avoid: tuple[Package, ...] = ()
    """Never installed, where a dependency can be met by another package."""


class Drop(Frozen):
    """Files that are left out of the image, and why that is safe."""

    why: str
    paths: tuple[Pattern, ...]
    """``*`` matches "/" too; a folder that matches goes with all that it holds."""


class Declaration(Frozen):
    """One runtime."""

    name: Name
    title: str
    python: Annotated[str, StringConstraints(pattern=r"^3\.\d+$")]
    debian: Debian
    wheels: tuple[str, ...]
    """Requirements as pip reads them. Only ``lock`` resolves them."""
    user: Annotated[str, StringConstraints(pattern=r"^[1-9]\d*:\d+$")]
    """Numeric: a hardened container has no right to look names up, and never root."""
    env: dict[str, str]
    drop: tuple[Drop, ...] = ()
    keep: tuple[Pattern, ...] = ()
    """Kept although a drop matches them."""

    @property
    def site(self) -> str:
        """Where the wheels go: the folder that Debian's Python reads for software from outside Debian."""
        return f"usr/local/lib/python{self.python}/dist-packages"


def load_declaration(folder: Path) -> Declaration:
    """The declaration in ``folder``. Raises BadDataError, naming the file, for one that breaks a rule."""
    path = folder / FILE_NAME
    declaration = parse_model(Declaration, path)
    if declaration.name != folder.resolve().name:
        problem = f"{path} declares the name {declaration.name!r}, and lies in {folder.resolve().name!r}"
        raise BadDataError(problem, hint="give both one name")
    return declaration


def parse_model(kind: type[Model], path: Path) -> Model:
    """The YAML file ``path`` as ``kind``. Raises UnavailableError or BadDataError, naming the file."""
    try:
        data: Any = yaml.safe_load(path.read_bytes())
        return kind.model_validate(data)
    except OSError as error:
        raise UnavailableError(f"cannot read {path}: {error.strerror}", hint="check the path") from error
    except yaml.YAMLError as error:
        raise BadDataError(f"{path} is not YAML: {_one_line(str(error))}", hint="correct the file") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        problem = f"{path}: {where}: {first['msg']}, got {first['input']!r:.80}"
        raise BadDataError(problem, hint="correct the file; docs/runtimes.md lists its keys") from error


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
