#!/bin/sh
# The names in docs and READMEs exist: files and folders of the tree, and our
# functions, types, macros and environment variables. CHANGELOG.md and
# FIGURES.md also describe the past.
set -eu
export LC_ALL=C
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"

pages=$(find . \( -name '.?*' -o -name build -o -name 'build-*' \) -prune -o \
    -name '*.md' ! -name CHANGELOG.md ! -name FIGURES.md -print | sort)
sources="engine include schedulers apps examples tests bench python R cmake
    setup.py"
words=$(mktemp) files=$(mktemp) ends=$(mktemp) names=$(mktemp)
trap 'rm -f "$words" "$files" "$ends" "$names"' EXIT
# shellcheck disable=SC2086 # lists of names
find $sources \( -name '.?*' -o -name build \) -prune -o -type f \
    ! -name '*.md' -exec grep -ohIE '(strads|sti|STRADS|STI)_[A-Za-z0-9_]+' \
    {} + | sort -u >"$words"
find . \( -name '.?*' -o -name build -o -name 'build-*' \) -prune -o -print |
    sed 's|^\./||' | sort -u >"$files"
# Each path from any of its folders on, also without .c or .h. The loop below
# needs a process for each name, and most names are here.
awk '{
    for (path = $0; path != ""; ) {
        print path
        if (path ~ /\.[ch]$/) print substr(path, 1, length(path) - 2)
        if (!sub(/^[^\/]*\//, "", path)) break
    }
}' "$files" | sort -u >"$ends"

wrong=0
for page in $pages; do
    # Identifiers; one that ends in _ names a family: sti_client_*.
    grep -oE '\b(strads|sti|STRADS|STI)_[A-Za-z0-9_]+' "$page" | sort -u >"$names"
    for name in $(comm -23 "$names" "$words"); do
        case $name in
        *_) grep -q "^$name" "$words" ;;
        *) false ;;
        esac || {
            echo "${page#./}: $name is not in the code"
            wrong=1
        }
    done
    # Paths that begin with a folder of the tree, and sources by their name
    # alone. A name that ends in _ is a prefix; one that begins with _, or
    # NAME, is a placeholder. Code and commands are left out, because they name
    # readers' files.
    awk '/^```/ { inside = !inside; next } !inside && !/^    /' \
        "$page" | sed 's|build/[A-Za-z0-9_./-]*||g' |
        grep -oE '\b(engine|include/strads|schedulers|apps|tests|bench|docs|cmake|examples|packaging|debian|python)/[A-Za-z0-9_./-]*[A-Za-z0-9_]|\b[a-z0-9_]+\.(c|h|pml|sh|shlib)\b' |
        sort -u >"$names"
    for name in $(comm -23 "$names" "$ends"); do
        here=$(dirname "${page#./}")
        case $name in
        _* | *NAME* | *strads.sh) continue ;;
        *_) rest='[^/]*' ;;
        *) rest='(\.[ch])?' ;;
        esac
        grep -qE "^(.*/)?$name$rest\$" "$files" || [ -e "$here/$name" ] || {
            echo "${page#./}: there is no $name"
            wrong=1
        }
    done
done
exit $wrong
