#!/bin/sh
# Doxygen makes the pages of the public headers without a warning.
set -eu
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"

command -v doxygen >/dev/null || {
    echo "doxygen is missing (Debian: doxygen)"
    exit 1
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
{
    cat docs/Doxyfile
    echo "OUTPUT_DIRECTORY = $out"
} | doxygen -
