"""Each way to spoil an archive that we could think of, and the one error that it must get."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bundler.digest import Digest
from bundler.errors import BadBundle, UsageError
from bundler.oci.archive_reader import MAX_MEMBERS, read_archive
from bundler.oci.blob import read_blob
from bundler.oci.image import Image
from bundler.strict_json import MAX_BYTES

Parts = dict[str, bytes]
Tar = Callable[[Mapping[str, bytes]], bytes]


def _refused(path: Path, data: bytes, part_of_message: str) -> None:
    path.write_bytes(data)
    with pytest.raises(BadBundle, match=part_of_message) as caught:
        read_archive(path)
    assert caught.value.hint


def _with(parts: Parts, name: str, change: Callable[[Any], Any]) -> Parts:
    """The JSON file ``name`` changed in place."""
    return parts | {name: json.dumps(change(json.loads(parts[name]))).encode()}


def _blob(digest: str) -> str:
    return "blobs/sha256/" + digest.removeprefix("sha256:")


def _with_manifest(parts: Parts, change: Callable[[dict[str, Any]], Any]) -> Parts:
    """Another manifest, with an index that has its right digest; Docker's index is left out."""
    index = json.loads(parts["index.json"])
    manifest = json.loads(parts[_blob(index["manifests"][0]["digest"])])
    change(manifest)
    data = json.dumps(manifest).encode()
    digest = Digest.of(data)
    index["manifests"][0] |= {"digest": digest, "size": len(data)}
    changed = parts | {"index.json": json.dumps(index).encode(), _blob(digest): data}
    del changed["manifest.json"]
    return changed


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    return tmp_path / "x.tar"


def test_a_sound_one_by_another_tool(file: Path, parts: Parts, tar: Tar, image: Image) -> None:
    file.write_bytes(tar(parts))
    assert read_archive(file) == image
    file.write_bytes(tar({"./" + name: data for name, data in parts.items()}))
    assert read_archive(file) == image
    del parts["manifest.json"]
    file.write_bytes(tar(parts))
    assert read_archive(file) == image


@pytest.mark.parametrize("data", [b"", b"x", b"x" * 2000, b'{"a": 1}' * 100])
def test_no_tar(file: Path, data: bytes) -> None:
    _refused(file, data, "ends too early|not a tar")


def test_an_empty_tar(file: Path) -> None:
    _refused(file, bytes(10240), "lacks 'manifest.json': it is no image")


def test_a_compressed_tar(file: Path, parts: Parts, tar: Tar) -> None:
    _refused(file, gzip.compress(tar(parts)), "compressed with gzip")


def test_another_file_is_told_what_would_do(file: Path) -> None:
    file.write_bytes(b"# Not a tar\n" * 100)
    with pytest.raises(BadBundle, match="is not a tar") as refused:
        read_archive(file)
    assert "name what bundler froze" in str(refused.value.hint)


def test_no_such_file(file: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_archive(file)
    file.mkdir()
    with pytest.raises(UsageError, match="it is a folder, not a file"):
        read_archive(file)


def test_cut_short_anywhere(file: Path, parts: Parts, tar: Tar) -> None:
    data = tar(parts)
    end = len(data.rstrip(b"\0"))
    for size in [*range(0, end, 997), end - end % 512]:
        _refused(file, data[:size], "too early|is not a tar")
    _refused(file, data[: end - 1], "too early, inside 'blobs/")


def test_one_bit_of_a_header(file: Path, parts: Parts, tar: Tar) -> None:
    data = bytearray(tar(parts))
    data[136] ^= 1  # in the time, which nobody reads
    _refused(file, bytes(data), "damaged header")


def test_one_bit_of_each_blob(file: Path, parts: Parts, tar: Tar) -> None:
    for name in parts:
        if name.startswith("blobs/"):
            data = bytearray(parts[name])
            data[len(data) // 2] ^= 1
            _refused(file, tar(parts | {name: bytes(data)}), "has the digest")


def test_a_blob_of_another_size(file: Path, parts: Parts, tar: Tar) -> None:
    for name in parts:
        if name.startswith("blobs/"):
            _refused(file, tar(parts | {name: parts[name] + b"x"}), r"has \d+ bytes in 'blobs/.*, not \d+")


def test_a_blob_that_is_missing(file: Path, parts: Parts, tar: Tar) -> None:
    for name in parts:
        if name.startswith("blobs/"):
            fewer = {other: data for other, data in parts.items() if other != name}
            _refused(file, tar(fewer), "missing|not in this file")


def test_thin_means_the_base_and_all_of_it(file: Path, parts: Parts, tar: Tar, image: Image) -> None:
    base, own, _ = (_blob(layer.digest) for layer in image.layers)
    for missing in ({own}, {base, own}):
        file.write_bytes(tar({name: data for name, data in parts.items() if name not in missing}))
        with pytest.raises(BadBundle, match="layers are missing"):
            read_archive(file, allow_thin=True)


def test_two_indexes_that_disagree(file: Path, parts: Parts, tar: Tar) -> None:
    """What bundler judges must be what Docker runs."""

    def swap(entries: Any) -> Any:
        entries[0]["Layers"].reverse()
        return entries

    _refused(file, tar(_with(parts, "manifest.json", swap)), "one image by 'index.json' and to another")

    def other_config(entries: Any) -> Any:
        return [entries[0] | {"Config": entries[0]["Layers"][0]}]

    _refused(file, tar(_with(parts, "manifest.json", other_config)), "one image by 'index.json'")


@pytest.mark.parametrize(
    ("change", "part_of_message"),
    [
        (lambda entries: entries * 2, "holds 2 images"),
        (lambda entries: [], "holds 0 images"),
        (lambda entries: {}, "not a list"),
        (lambda entries: [1], "not an object"),
        (lambda entries: [entries[0] | {"Layers": ["x"] * 1000}], "1000 items"),
        (lambda entries: [entries[0] | {"Layers": [None]}], "to another"),
    ],
)
def test_dockers_index(
    file: Path, parts: Parts, tar: Tar, change: Callable[[Any], Any], part_of_message: str
) -> None:
    _refused(file, tar(_with(parts, "manifest.json", change)), part_of_message)


@pytest.mark.parametrize(
    ("data", "part_of_message"),
    [
        (b"{", "not sound JSON"),
        (b"\xff\xfe", "not sound JSON"),
        (b'{"manifests":[NaN]}', "NaN"),
        (b'{"manifests":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep"),
        (b'{"manifests":[]}', "0 images"),
        (b"{}", "0 images"),
        (b"[]", "not an object"),
        (b'{"manifests":[' + b"{}," * 999_999 + b"{}]}", "1000000 items"),
        (b'"' + b"x" * MAX_BYTES + b'"', "bytes in 'index.json'"),
        (b'{"manifests":[{}]}', "no digest"),
        (b'{"manifests":[{"digest":"md5:0","size":1}]}', "no digest"),
        (b'{"manifests":[{"digest":"sha256:../../etc/passwd","size":1}]}', "no digest"),
        (b'{"manifests":[{"digest":"sha256:' + b"0" * 64 + b'","size":-1}]}', "not a size"),
        (b'{"manifests":[{"digest":"sha256:' + b"0" * 64 + b'","size":1.5}]}', "not a size"),
        (b'{"manifests":[{"digest":"sha256:' + b"0" * 64 + b'","size":1,"mediaType":"x"}]}', "'x'"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_ocis_index(file: Path, parts: Parts, tar: Tar, data: bytes, part_of_message: str) -> None:
    _refused(file, tar(parts | {"index.json": data}), part_of_message)


def test_an_index_that_leads_to_itself_and_on(file: Path, parts: Parts, tar: Tar) -> None:
    index = parts["index.json"]
    for _ in range(5):
        entry = {
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "digest": Digest.of(index),
            "size": len(index),
        }
        parts[_blob(entry["digest"])] = index  # type: ignore[arg-type]
        index = json.dumps({"manifests": [entry]}).encode()
    _refused(file, tar(parts | {"index.json": index}), "not an image's manifest")


def test_an_index_of_an_index_beside_other_platforms(
    file: Path, parts: Parts, tar: Tar, image: Image
) -> None:
    """What newer Dockers save."""
    inner = json.loads(parts["index.json"])
    other = {"mediaType": "x", "digest": "sha256:" + "0" * 64, "size": 1}
    inner["manifests"].append(other | {"platform": {"os": "unknown", "architecture": "unknown"}})
    data = json.dumps(inner).encode()
    index = {
        "manifests": [
            {
                "mediaType": "application/vnd.oci.image.index.v1+json",
                "digest": Digest.of(data),
                "size": len(data),
            }
        ]
    }
    file.write_bytes(tar(parts | {_blob(Digest.of(data)): data, "index.json": json.dumps(index).encode()}))
    assert read_archive(file) == image


def _set(key: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda manifest: manifest.update({key: value})


@pytest.mark.parametrize(
    ("change", "part_of_message"),
    [
        (_set("layers", []), "0 layers, where the config has 3"),
        (_set("layers", [{}] * 128), "128 items"),
        (_set("layers", [{}] * 100_000), "100000 items|bytes"),
        (_set("config", None), "not an object"),
        (lambda manifest: manifest["layers"][0].update(mediaType="application/x"), "'application/x'"),
        (
            lambda manifest: manifest["layers"][0].update(
                mediaType="application/vnd.oci.image.layer.v1.tar+zstd"
            ),
            "zstd",
        ),
        (lambda manifest: manifest["layers"][0].update(size=10**30), "not a size"),
        (lambda manifest: manifest["layers"][0].update(size=2**62), "not 4611686018427387904"),
        (lambda manifest: manifest["config"].update(size=5 * 1024**2), "not 5242880"),
    ],
)
def test_the_manifest(
    file: Path, parts: Parts, tar: Tar, change: Callable[[dict[str, Any]], Any], part_of_message: str
) -> None:
    _refused(file, tar(_with_manifest(parts, change)), part_of_message)


def test_docker_schema_2(file: Path, parts: Parts, tar: Tar, image: Image) -> None:
    def retype(manifest: dict[str, Any]) -> None:
        manifest["config"]["mediaType"] = "application/vnd.docker.container.image.v1+json"
        for layer in manifest["layers"]:
            layer["mediaType"] = "application/vnd.docker.image.rootfs.diff.tar.gzip"

    file.write_bytes(tar(_with_manifest(parts, retype)))
    found = read_archive(file)
    assert found.layers == image.layers
    assert found.config_digest == image.config_digest


def _odd_member(parts: Parts, tar: Tar, **fields: Any) -> bytes:
    """A sound archive with one more member, put first, that has ``fields``."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        member = tarfile.TarInfo("odd")
        for key, value in fields.items():
            setattr(member, key, value)
        archive.addfile(member)
    return out.getvalue()[: -len(out.getvalue()) % 512 or None].rstrip(b"\0").ljust(512, b"\0") + tar(parts)


@pytest.mark.parametrize(
    ("fields", "part_of_message"),
    [
        ({"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}, "a hard link"),
        ({"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "the symlink 'odd' to '/etc/passwd'"),
        (
            {"type": tarfile.SYMTYPE, "name": "0" * 64 + "/layer.tar", "linkname": "../../x/layer.tar"},
            "the symlink",
        ),
        ({"type": tarfile.SYMTYPE, "name": "blobs", "linkname": "../" + "0" * 64 + ".tar"}, "the symlink"),
        ({"type": tarfile.CHRTYPE}, "a device"),
        ({"type": tarfile.BLKTYPE}, "a device"),
        ({"type": tarfile.FIFOTYPE}, "a pipe"),
        ({"type": tarfile.CONTTYPE}, "a contiguous file"),
        ({"type": b"Z"}, "kind b'Z'"),
        ({"name": "../odd"}, r"'\.\.' is not a name"),
        ({"name": "/odd"}, "absolute"),
        ({"name": "a/./b"}, r"'\.' is not a name"),
        ({"name": "odd\n"}, "control character"),
        ({"name": "odd\x1b[31m"}, "control character"),
        ({"type": tarfile.DIRTYPE, "size": 5}, "the folder 'odd' bytes of its own"),
        ({"name": "index.json"}, "holds 'index.json' twice"),
        ({"name": "./index.json"}, "holds 'index.json' twice"),
        ({"size": 8 * 10**9}, "too early"),
        ({"size": 10**12}, "whose size is"),
    ],
)
def test_odd_members(
    file: Path, parts: Parts, tar: Tar, fields: dict[str, Any], part_of_message: str
) -> None:
    _refused(file, _odd_member(parts, tar, **fields), part_of_message)


def test_gnu_long_names(file: Path, parts: Parts) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("x" * 200))
    _refused(file, out.getvalue(), "a GNU long name")


@pytest.mark.parametrize(
    ("records", "part_of_message"),
    [
        ({"path": "../x"}, "not a name"),
        ({"path": "a\0b"}, "control character|damaged"),
        ({"GNU.sparse.major": "1"}, "'GNU.sparse.major'"),
        ({"hdrcharset": "BINARY"}, "'hdrcharset'"),
        ({"comment": "x" * 70_000}, "too large"),
        ({"size": "-1"}, "size is '-1'"),
        ({"size": "99999999999999999999"}, "size is"),
    ],
)
def test_pax_records(file: Path, records: dict[str, str], part_of_message: str) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("x")
        member.pax_headers = records
        archive.addfile(member)
    _refused(file, out.getvalue(), part_of_message)


def test_two_pax_headers_for_one_member(file: Path) -> None:
    """Readers differ in which of the two counts."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("x" * 150)
        archive.addfile(member)
    extended = out.getvalue()[:1024]
    _refused(file, extended + out.getvalue(), "two for one member")
    _refused(file, extended + bytes(1024), "ends after a header")


def test_a_pax_header_for_all_members(file: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"path": "index.json"}
    ) as archive:
        archive.addfile(tarfile.TarInfo("x"))
    _refused(file, out.getvalue(), "a header for all members")


def test_too_many_members(file: Path, parts: Parts, tar: Tar) -> None:
    many = {f"m{number}": b"" for number in range(MAX_MEMBERS)}
    _refused(file, tar(many | parts), f"more than {MAX_MEMBERS} members")


def _legacy(image: Image) -> tuple[Parts, list[str]]:
    """What Docker 20.10 saves."""
    config = image.config_json
    parts: Parts = {image.config_digest.hex + ".json": config}
    names = []
    for number, layer in enumerate(image.layers):
        name = f"{number:064x}/layer.tar"
        parts[name] = gzip.decompress(read_blob(layer.blob, limit_bytes=10**6))
        names.append(name)
    entry = {"Config": image.config_digest.hex + ".json", "RepoTags": ["x:1"], "Layers": names}
    parts["manifest.json"] = json.dumps([entry]).encode()
    return parts, names


def test_docker_save(file: Path, tar: Tar, image: Image) -> None:
    parts, _ = _legacy(image)
    file.write_bytes(tar(parts))
    found = read_archive(file)
    assert found.config_digest == image.config_digest
    assert [layer.diff_id for layer in found.layers] == [layer.diff_id for layer in image.layers]


def test_docker_save_that_was_tampered_with(file: Path, tar: Tar, image: Image) -> None:
    parts, names = _legacy(image)
    layer = parts[names[2]].replace(b"one\r\n", b"two\r\n")
    assert layer != parts[names[2]]
    _refused(file, tar(parts | {names[2]: layer}), "has the digest")
    config = image.config_digest.hex + ".json"
    _refused(file, tar(parts | {config: parts[config] + b" "}), "has the digest")
    other = json.loads(parts["manifest.json"])
    other[0]["Layers"].pop()
    _refused(file, tar(parts | {"manifest.json": json.dumps(other).encode()}), "2 layers, where")
    other[0]["Config"] = "config.json"
    _refused(file, tar(parts | {"manifest.json": json.dumps(other).encode()}), "no digest")


def test_a_layer_that_docker_saved_as_a_link_to_its_twin(file: Path, tar: Tar, image: Image) -> None:
    parts, names = _legacy(image)
    twin = parts.pop(names[1])
    parts["f" * 64 + "/layer.tar"] = twin
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo(names[1])
        member.type, member.linkname = tarfile.SYMTYPE, "../" + "f" * 64 + "/layer.tar"
        archive.addfile(member)
    file.write_bytes(out.getvalue()[:512] + tar(parts))
    assert read_archive(file).config_digest == image.config_digest
