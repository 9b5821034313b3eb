#!/bin/sh
# Print the path of a Python of the version $1 (as 3.13), or fail.
set -eu
for candidate in "python$1" "$HOME"/.pyenv/versions/"$1".*/bin/python3 /root/.pyenv/versions/"$1".*/bin/python3; do
    path=$(command -v "$candidate" 2>/dev/null) || continue
    [ "$("$path" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$1" ] && echo "$path" && exit 0
done
exit 1
