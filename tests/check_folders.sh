#!/bin/sh
# Each folder has a README.md.
set -eu
export LC_ALL=C
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"

missing=$(find . -mindepth 1 \
    \( -name '.?*' -o -name build -o -name 'build-*' -o -name '*.egg-info' \
    -o -path './python/strads/bin' -o -path './python/strads/lib' \
    -o -path './tests/fuzz/seeds/*' \) -prune -o \
    -type f -print | sed 's|/[^/]*$||' | sort -u |
    while read -r folder; do
        [ -f "$folder/README.md" ] || echo "$folder: has no README.md"
    done)
[ -z "$missing" ] || {
    printf '%s\n' "$missing"
    exit 1
}
