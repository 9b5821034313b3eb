"""An image's config: the part of it that bundler reads and writes, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bundler.digest import Digest
from bundler.strict_json import as_list, as_object, as_text, as_text_map, as_texts, bad, decode, encode

CREATED = "2020-01-01T00:00:00Z"
"""For every image and every layer; the same moment as ``tar.MODIFIED_S``."""
MAX_LAYERS = 127
"""More cannot be mounted by overlay2."""

_MAX_ITEMS = 4096
_NAME = "the image's config"


@dataclass(frozen=True)
class History:
    """How one layer, or one change without a layer, came to be."""

    created_by: str
    comment: str = ""
    created: str = CREATED
    empty_layer: bool = False


@dataclass(frozen=True)
class ImageConfig:
    """What an engine does with the layers."""

    diff_ids: tuple[Digest, ...]
    history: tuple[History, ...]
    """One that is no ``empty_layer`` for each of ``diff_ids``, in their order."""
    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    user: str = ""
    working_dir: str = ""
    env: tuple[str, ...] = ()
    """``NAME=value``; the order is kept."""
    labels: Mapping[str, str] = field(default_factory=dict)
    architecture: str = "amd64"
    os: str = "linux"


def config_json(config: ImageConfig) -> bytes:
    """The one spelling of ``config``."""
    run = {
        "Entrypoint": list(config.entrypoint),
        "Cmd": list(config.cmd),
        "User": config.user,
        "WorkingDir": config.working_dir,
        "Env": list(config.env),
        "Labels": dict(config.labels),
    }
    return encode(
        {
            "architecture": config.architecture,
            "os": config.os,
            "created": CREATED,
            "config": {key: value for key, value in run.items() if value},
            "rootfs": {"type": "layers", "diff_ids": list(config.diff_ids)},
            "history": [_history_json(step) for step in config.history],
        }
    )


def _history_json(step: History) -> dict[str, Any]:
    found: dict[str, Any] = {"created": step.created, "created_by": step.created_by}
    if step.comment:
        found["comment"] = step.comment
    if step.empty_layer:
        found["empty_layer"] = True
    return found


def parse_config(data: bytes) -> ImageConfig:
    """A stranger's config. Fields that bundler does not use are let be; raises BadBundle."""
    whole = as_object(decode(data, name=_NAME), _NAME)
    run = as_object(whole.get("config") or {}, f"{_NAME}, 'config',")
    diff_ids = _diff_ids(whole)
    return ImageConfig(
        diff_ids=diff_ids,
        history=_history(whole, len(diff_ids)),
        entrypoint=as_texts(run.get("Entrypoint"), f"{_NAME}, 'Entrypoint',", most=_MAX_ITEMS),
        cmd=as_texts(run.get("Cmd"), f"{_NAME}, 'Cmd',", most=_MAX_ITEMS),
        user=as_text(run.get("User"), f"{_NAME}, 'User',"),
        working_dir=as_text(run.get("WorkingDir"), f"{_NAME}, 'WorkingDir',"),
        env=as_texts(run.get("Env"), f"{_NAME}, 'Env',", most=_MAX_ITEMS),
        labels=as_text_map(run.get("Labels"), f"{_NAME}, 'Labels',", most=_MAX_ITEMS),
        architecture=as_text(whole.get("architecture"), f"{_NAME}, 'architecture',"),
        os=as_text(whole.get("os"), f"{_NAME}, 'os',"),
    )


def _diff_ids(whole: Mapping[str, Any]) -> tuple[Digest, ...]:
    name = f"{_NAME}, 'rootfs.diff_ids',"
    rootfs = as_object(whole.get("rootfs"), f"{_NAME}, 'rootfs',")
    return tuple(as_digest(text, name) for text in as_texts(rootfs.get("diff_ids"), name, most=MAX_LAYERS))


def as_digest(value: Any, name: str) -> Digest:
    """``value`` when it is a sha256 digest; else BadBundle."""
    try:
        return Digest(as_text(value, name))
    except ValueError as error:
        raise bad(name, f"is no digest: {str(error)[:200]}") from error


def _history(whole: Mapping[str, Any], layers: int) -> tuple[History, ...]:
    """The history, or one made up where there is none, which OCI allows."""
    name = f"{_NAME}, 'history',"
    steps = tuple(_step(item, name) for item in as_list(whole.get("history"), name, most=_MAX_ITEMS))
    if not steps:
        return tuple(History(created_by="not recorded") for _ in range(layers))
    told = sum(not step.empty_layer for step in steps)
    if told != layers:
        raise bad(name, f"tells of {told} layers, where 'rootfs' has {layers}")
    return steps


def _step(item: Any, name: str) -> History:
    step = as_object(item, name)
    return History(
        created_by=as_text(step.get("created_by"), name),
        comment=as_text(step.get("comment"), name),
        created=as_text(step.get("created"), name),
        empty_layer=step.get("empty_layer") is True,
    )
