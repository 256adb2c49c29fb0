#!/bin/sh
# The shared library exports only strads_*, every function that a public header
# declares is exported, and Debian's list of symbols is complete.
set -eu
export LC_ALL=C
library=$STRADS_BUILD/libstrads.so

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

nm -D --defined-only "$library" | awk '{ print $3 }' | sed 's/@.*//' |
    sort -u >"$scratch/exported"
[ -s "$scratch/exported" ]

# Remove comments first: they may mention the macro.
cat "$STRADS_SOURCE"/include/strads/*.h | tr '\n' ' ' |
    sed 's|/\*|\n/*|g; s|\*/|*/\n|g' | grep -v '^/\*' | tr '\n' ' ' |
    sed 's/STRADS_API/\n&/g' |
    sed -n 's/^STRADS_API [^(;]*[ *]\(strads_[a-z0-9_]*\).*/\1/p' |
    sort -u >"$scratch/declared"
[ -s "$scratch/declared" ]

if grep -v '^strads_' "$scratch/exported"; then
    echo "the above are exported by $library and should be hidden"
    exit 1
fi
if comm -23 "$scratch/declared" "$scratch/exported" | grep .; then
    echo "the above are declared in include/strads and not in $library"
    exit 1
fi

# Debian's list of symbols: packages built against the library depend on it.
sed -n 's/^ \(strads_[a-z0-9_]*\)@.*/\1/p' \
    "$STRADS_SOURCE/debian/libstrads0.symbols" | sort -u >"$scratch/listed"
if comm -3 "$scratch/listed" "$scratch/exported" | grep .; then
    echo "the above are not both in $library and in debian/libstrads0.symbols"
    exit 1
fi
