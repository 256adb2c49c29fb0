#!/bin/sh
# Each folder has a README of at most 60 lines, no line of source or prose is
# wider than 80 columns, and no C file is longer than 700 lines.
set -eu
export LC_ALL=C
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"

found=$(mktemp)
trap 'rm -f "$found"' EXIT

# What belongs to the tree: hidden folders and build trees do not.
list_tree()
{
    find . -mindepth 1 \
        \( -name '.?*' -o -name build -o -name 'build-*' \) -prune -o "$@"
}

list_tree -type f -print | sed 's|/[^/]*$||' | sort -u |
    while read -r folder; do
        if [ ! -f "$folder/README.md" ]; then
            echo "$folder: has no README.md"
        elif [ "$folder" != . ]; then
            awk 'END {
                if (NR > 60) print FILENAME ": has " NR " lines, 60 at most"
            }' "$folder/README.md"
        fi
    done >"$found"

list_tree -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' \
    -o -name '*.cmake' -o -name CMakeLists.txt -o -name dev \) -print |
    sort | xargs awk '
    {
        line = $0
        gsub(/\t/, "        ", line)
        gsub(/[\200-\277]/, "", line) # of UTF-8, count first bytes only
        if (length(line) > 80)
            print FILENAME ":" FNR ": is " length(line) " columns wide"
        if (FNR == 701 && FILENAME ~ /\.[ch]$/)
            print FILENAME ": is longer than 700 lines"
    }' >>"$found"

# Of pages their prose: tables, code and what a program printed go as they are.
list_tree -type f -name '*.md' -print | sort | xargs awk '
    FNR == 1 { fenced = 0 }
    /^```/ { fenced = !fenced }
    fenced || /^\|/ || /^    / { next }
    {
        line = $0
        gsub(/[\200-\277]/, "", line)
        if (length(line) > 80)
            print FILENAME ":" FNR ": is " length(line) " columns wide"
    }' >>"$found"

cat "$found"
[ ! -s "$found" ]
