from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from bundler.errors import BadBundle
from bundler.oci.config import config_json, parse_config
from bundler.oci.image import APPENDED_LABEL, Image, append, base_layer_count, make_image, own_layers, rebase
from bundler.oci.layer import build_layer
from bundler.oci.tree import Entry

Freeze = Callable[[Image | None], Image]


def test_append_keeps_and_extends(base: Image, image: Image) -> None:
    config = image.config
    assert config.env == ("PATH=/bin:/1", "OWN=1")
    assert config.entrypoint == ("/opt/x/run",)
    assert config.labels["base"] == "1"
    assert config.labels["own"] == "label"
    assert config.labels["org.opencontainers.image.base.digest"] == base.digest
    assert [step.comment for step in config.history] == ["", "replayer", "experiment"]
    assert config.diff_ids == tuple(layer.diff_id for layer in image.layers)
    assert image.layers[:1] == base.layers
    assert base_layer_count(image) == 1
    assert own_layers(image) == image.layers[1:]


def test_without_a_base(freeze: Freeze) -> None:
    bare = freeze(None)
    assert base_layer_count(bare) == 0
    assert "org.opencontainers.image.base.digest" not in bare.config.labels


def test_rebase_gives_what_freezing_there_gives(freeze: Freeze, base: Image, new_base: Image) -> None:
    assert rebase(freeze(None), base) == freeze(base)
    assert rebase(freeze(base), new_base) == freeze(new_base)
    assert rebase(freeze(new_base), None) == freeze(None)


def test_nothing_but_the_arguments_is_in_the_bytes(image: Image) -> None:
    config = json.loads(image.config_json)
    assert config["created"] == "2020-01-01T00:00:00Z"
    assert {step["created"] for step in config["history"]} == {"2020-01-01T00:00:00Z"}
    canonical = json.dumps(config, sort_keys=True, separators=(",", ":"))
    assert image.config_json == canonical.encode()
    assert (config["os"], config["architecture"]) == ("linux", "amd64")


def test_a_config_survives_being_read(image: Image) -> None:
    assert config_json(parse_config(image.config_json)) == image.config_json


@pytest.mark.parametrize(
    "label",
    [
        None,
        "",
        "[]",
        "{}",
        '{"base_layers":-1}',
        '{"base_layers":4}',
        '{"base_layers":true}',
        '{"base_layers":1,"env":["PATHS"]}',
        '{"base_layers":1,"env":"OWN"}',
        '{"base_layers":1,"labels":["none"]}',
        '{"base_layers":NaN}',
    ],
)
def test_rebase_refuses_what_append_did_not_make(image: Image, base: Image, label: str | None) -> None:
    labels = {key: value for key, value in image.config.labels.items() if key != APPENDED_LABEL}
    if label is not None:
        labels[APPENDED_LABEL] = label
    forged = make_image(config_json(replace(image.config, labels=labels)), image.layers)
    with pytest.raises(BadBundle):
        rebase(forged, base)


def test_layers_must_be_those_of_the_config(image: Image) -> None:
    with pytest.raises(BadBundle):
        make_image(image.config_json, image.layers[::-1])


def test_refuses_more_layers_than_can_be_mounted(base: Image) -> None:
    layers = [build_layer([Entry("x", str(number).encode())]) for number in range(127)]
    with pytest.raises(BadBundle, match="128 layers"):
        append(base, layers, entrypoint=[], cmd=[], user="", working_dir="", env={}, labels={})


@pytest.mark.parametrize(
    ("change", "part_of_message"),
    [
        ({"history": [{}]}, "tells of 1 layers, where 'rootfs' has 3"),
        ({"history": {}}, "not a list"),
        ({"rootfs": None}, "not an object"),
        ({"rootfs": {"diff_ids": ["sha256:0"]}}, "no digest"),
        ({"rootfs": {"diff_ids": ["sha256:" + "0" * 64] * 1000}}, "1000 items, more than 127"),
        ({"config": {"Env": [1]}}, "not text"),
        ({"config": {"Labels": {"a": []}}}, "'a'"),
        ({"config": {"Entrypoint": "sh"}}, "not a list"),
        ({"config": []}, None),
        ({"config": [1]}, "not an object"),
    ],
)
def test_a_strangers_config(image: Image, change: dict[str, object], part_of_message: str | None) -> None:
    data = json.dumps(json.loads(image.config_json) | change).encode()
    if part_of_message is None:
        parse_config(data)
        return
    with pytest.raises(BadBundle, match=part_of_message):
        parse_config(data)


def test_a_config_without_history_gets_one(image: Image) -> None:
    bare = json.loads(image.config_json)
    del bare["history"]
    assert len(parse_config(json.dumps(bare).encode()).history) == 3
