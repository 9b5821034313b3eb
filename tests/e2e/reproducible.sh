#!/bin/sh
# `make reproducible`: the same experiment frozen in many ways has to give the same bytes.
#
# Two checkouts in other folders with other times, umask 077, LC_ALL=C, another TZ and PYTHONHASHSEED, under every
# Python from 3.11 on that is found, as this user and, for root, as nobody.
set -eu
: "${PYTHON:?}" "${EXPERIMENT:?}"
root=$(pwd)
work=$(mktemp -d)
needs="numpy nvidia-ml-py pydantic pyyaml rich typer markdown-it-py"
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

checkout() { # checkout FOLDER TIMESTAMP
    mkdir -p "$1"
    git ls-files -z | xargs -0 tar cf - | tar xf - -C "$1"
    find "$1" -exec touch -h -t "$2" {} +
}
checkout "$work/a" 200102030405
checkout "$work/b/deeper down" 203801010000

failed() { cat "$work/log" >&2; echo "freezing $1 failed" >&2; exit 1; }
freeze() { # freeze NAME PYTHON CHECKOUT [ENV...]
    name=$1 with=$2 folder=$3
    shift 3
    (cd "$folder" && env "$@" PYTHONPATH="$folder" "$with" -P -B -m bundler freeze "$EXPERIMENT" \
        -o "$work/out/$name.tar" --bare >"$work/log" 2>&1) || failed "$name"
    sum "$name"
}
sum() { printf '%s  %s\n' "$(sha256sum <"$work/out/$1.tar" | cut -d' ' -f1)" "$1" | tee -a "$work/sums"; }

freeze_as_nobody() { # the system's Python, since root's own may lie where nobody else can read
    system=/usr/bin/python3
    "$system" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        { echo "the system has no Python 3.11: not tried as nobody" >&2; return; }
    "$python" -m pip --python "$system" install --quiet --target "$work/site" $needs
    chmod -R go+rX "$work/a" "$work/site"
    (cd "$work/a" && setpriv --reuid=65534 --regid=65534 --clear-groups env PYTHONPATH="$work/a:$work/site" HOME=/ \
        "$system" -P -B -m bundler freeze "$EXPERIMENT" -o "$work/out/nobody.tar" --bare >"$work/log" 2>&1) || failed nobody
    sum nobody
}

mkdir -m 777 "$work/out"
python=$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON")
freeze plain "$python" "$work/a"
(umask 077 && freeze umask-077 "$python" "$work/b/deeper down")
freeze locale-c "$python" "$work/a" LC_ALL=C TZ=Pacific/Kiritimati PYTHONHASHSEED=4242
freeze epoch "$python" "$work/b/deeper down" SOURCE_DATE_EPOCH=1 PYTHONHASHSEED=7 TZ=UTC
for version in 3.11 3.12 3.13 3.14; do
    found=$(sh "$root/tests/e2e/find_python.sh" $version) || { echo "no Python $version here" >&2; continue; }
    venv="$root/build/pythons/$version"
    [ -x "$venv/bin/python" ] || {
        "$found" -m venv "$venv"
        "$venv/bin/python" -m pip install --quiet $needs
    }
    freeze "python-$version" "$venv/bin/python" "$work/b/deeper down"
done
if [ "$(id -u)" = 0 ]; then freeze_as_nobody; fi

different=$(cut -d' ' -f1 "$work/sums" | sort -u | wc -l)
total=$(wc -l <"$work/sums")
[ "$total" -ge 5 ] || { echo "only $total freezes were made, 5 can be made anywhere" >&2; exit 1; }
[ "$different" = 1 ] || { echo "NOT REPRODUCIBLE: $different different archives" >&2; exit 1; }
echo "reproducible: $total freezes, one archive"
