"""An image as a value; each change gives a new one.

Config and manifest are kept as the bytes that they came as: their digests are what an image is
known by, and writing them again could change them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bundler.digest import Digest
from bundler.errors import BadBundle
from bundler.oci.config import MAX_LAYERS, History, ImageConfig, config_json, parse_config
from bundler.oci.layer import Layer
from bundler.strict_json import as_object, as_size, as_texts, decode, encode

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
BASE_DIGEST_LABEL = "org.opencontainers.image.base.digest"
APPENDED_LABEL = "bundler.appended"
"""What ``append`` put on top of its base: ``rebase`` needs to tell the two apart. A label, because
labels are what every engine and every way of saving an image keeps."""

_CREATED_BY = "bundler"


@dataclass(frozen=True)
class Image:
    """Config, layers, and the manifest that names them."""

    config_json: bytes
    layers: tuple[Layer, ...]
    manifest_json: bytes

    @property
    def digest(self) -> Digest:
        """Of the manifest: what a registry knows the image by."""
        return Digest.of(self.manifest_json)

    @property
    def config_digest(self) -> Digest:
        """Of the config: Docker's image id. It names every layer's content, so it survives
        ``docker save``, which forgets the manifest."""
        return Digest.of(self.config_json)

    @cached_property
    def config(self) -> ImageConfig:
        """The config, parsed."""
        return parse_config(self.config_json)


@dataclass(frozen=True)
class _Appended:
    """What the label says."""

    base_layers: int
    env: tuple[str, ...]
    """Names of the variables that were set on top of the base's."""
    labels: tuple[str, ...]


def make_image(config: bytes, layers: Sequence[Layer]) -> Image:
    """An image of ``layers``, which must be those that ``config`` (its JSON) names."""
    named = parse_config(config).diff_ids
    if named != tuple(layer.diff_id for layer in layers):
        raise BadBundle(
            f"the image's config names {len(named)} layers, which are not the {len(layers)} given",
            hint="the file was damaged or tampered with; ask for it again",
        )
    return Image(config, tuple(layers), _manifest_json(config, layers))


def _manifest_json(config: bytes, layers: Sequence[Layer]) -> bytes:
    return encode(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": Digest.of(config), "size": len(config)},
            "layers": [
                {"mediaType": layer.media_type, "digest": layer.digest, "size": layer.size}
                for layer in layers
            ],
        }
    )


def append(
    base: Image | None,
    layers: Sequence[Layer],
    *,
    entrypoint: Sequence[str],
    cmd: Sequence[str],
    user: str,
    working_dir: str,
    env: Mapping[str, str],
    labels: Mapping[str, str],
    comments: Sequence[str] = (),
) -> Image:
    """``base`` with ``layers`` on top, run as the rest says.

    The base's environment and labels are kept, and overridden where names are equal; its ports,
    volumes and health check are not kept. ``comments`` go into the history, one a layer. Without a
    base the image holds ``layers`` alone.
    """
    own = _Appended(len(base.layers) if base else 0, tuple(sorted(env)), tuple(sorted(labels)))
    under = base.config if base else ImageConfig((), ())
    config = replace(
        under,
        diff_ids=(*under.diff_ids, *(layer.diff_id for layer in layers)),
        history=(*under.history, *_steps(layers, comments)),
        entrypoint=tuple(entrypoint),
        cmd=tuple(cmd),
        user=user,
        working_dir=working_dir,
        env=_merged_env(under.env, env),
        labels=_merged_labels(base, labels, own),
    )
    if len(config.diff_ids) > MAX_LAYERS:
        problem = f"the image would have {len(config.diff_ids)} layers, more than {MAX_LAYERS}"
        raise BadBundle(problem, hint="use a base with fewer layers")
    return make_image(config_json(config), (*(base.layers if base else ()), *layers))


def rebase(image: Image, base: Image | None) -> Image:
    """What ``append`` would have given, had ``image``'s own layers been put on ``base``.

    The base that it has now goes, with its environment and labels. Raises BadBundle for an image
    that ``append`` did not make.
    """
    own = _appended(image)
    config = image.config
    env = dict(pair.split("=", 1) for pair in config.env if "=" in pair)
    comments = [step.comment for step in config.history if not step.empty_layer]
    try:
        return append(
            base,
            image.layers[own.base_layers :],
            entrypoint=config.entrypoint,
            cmd=config.cmd,
            user=config.user,
            working_dir=config.working_dir,
            env={name: env[name] for name in own.env},
            labels={name: config.labels[name] for name in own.labels},
            comments=comments[own.base_layers :],
        )
    except KeyError as error:
        raise _not_appended(f"names {error}, which the config does not have") from None


def base_layer_count(image: Image) -> int:
    """How many of the image's layers, from the bottom, are its base's. Raises BadBundle like
    ``rebase``."""
    return _appended(image).base_layers


def own_layers(image: Image) -> tuple[Layer, ...]:
    """The layers that ``append`` put on top of the base."""
    return image.layers[base_layer_count(image) :]


def _steps(layers: Sequence[Layer], comments: Sequence[str]) -> tuple[History, ...]:
    told = (*comments, *([""] * (len(layers) - len(comments))))
    return tuple(History(_CREATED_BY, comment) for _, comment in zip(layers, told, strict=True))


def _merged_env(under: Sequence[str], own: Mapping[str, str]) -> tuple[str, ...]:
    kept = [pair for pair in under if pair.split("=", 1)[0] not in own]
    return (*kept, *(f"{name}={own[name]}" for name in sorted(own)))


def _merged_labels(base: Image | None, own: Mapping[str, str], record: _Appended) -> dict[str, str]:
    under = dict(base.config.labels) if base else {}
    under.pop(BASE_DIGEST_LABEL, None)
    if base is not None:
        under[BASE_DIGEST_LABEL] = base.digest
    value = {"base_layers": record.base_layers, "env": list(record.env), "labels": list(record.labels)}
    return {**under, **own, APPENDED_LABEL: encode(value).decode()}


def _appended(image: Image) -> _Appended:
    name = f"the label {APPENDED_LABEL}"
    text = image.config.labels.get(APPENDED_LABEL)
    if text is None:
        raise _not_appended("is not there")
    value = as_object(decode(text.encode(), name=name), name)
    count = as_size(_or_missing(value, "base_layers"), f"{name}, 'base_layers',")
    if count > len(image.layers):
        raise _not_appended(f"gives the base {count} layers, where the image has {len(image.layers)}")
    most = len(image.config.env) + len(image.config.labels)
    return _Appended(
        count,
        as_texts(value.get("env"), f"{name}, 'env',", most=most),
        as_texts(value.get("labels"), f"{name}, 'labels',", most=most),
    )


def _or_missing(value: Mapping[str, Any], key: str) -> Any:
    return value.get(key, "not there")


def _not_appended(what: str) -> BadBundle:
    return BadBundle(
        f"the label {APPENDED_LABEL!r} {what}",
        hint="this is no bundle that bundler froze, or it was tampered with; freeze it again",
    )
