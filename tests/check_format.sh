#!/bin/sh
# clang-format would not change any C file, and no comment is wider than 80
# columns, which it does not mend. Its versions format differently; version 14 is
# used.
set -eu
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"

find . \( -name '.?*' -o -name build -o -name 'build-*' \) -prune -o \
    -name '*.[ch]' -exec awk '
        length > 80 && /^ *(\/?\*|\/\/)/ { print FILENAME ":" FNR; wide = 1 }
        END { exit wide }' {} + || {
    echo "the comments above are wider than 80 columns"
    exit 1
}
for tool in clang-format-14 clang-format none; do
    if "$tool" --version 2>/dev/null | grep -q 'version 14\.'; then
        break
    fi
done
if [ "$tool" = none ]; then
    echo "NOT CHECKED: the format of the C files, for want of clang-format 14"
    exit 77
fi
find . \( -name '.?*' -o -name build -o -name 'build-*' \) -prune -o \
    -name '*.[ch]' -exec "$tool" --dry-run -Werror {} + || {
    echo "run ./dev format"
    exit 1
}
