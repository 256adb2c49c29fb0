#!/bin/sh
# Every C fragment in the tutorial is an exact part of one of the examples, and
# the tutorial names every slot of a program and of a phase.
set -eu
export LC_ALL=C
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"
page=docs/writing-a-program.md

awk -v page="$page" '
FILENAME != page { code = code $0 "\n"; next }
/^```c$/ { inside = 1; line = FNR + 1; text = ""; next }
/^```$/ && inside {
    inside = 0
    n++
    if (!index(code, text)) {
        printf "%s:%d: this fragment is in no example\n", page, line
        wrong = 1
    }
}
inside { text = text $0 "\n" }
END {
    if (n < 10) print page ": only " n + 0 " fragments were found"
    exit wrong || n < 10
}' examples/*/*.c "$page"

# Slots are the struct members after "(*".
sed -n 's/^ *[a-z_]* (\*\([a-z_]*\)).*/\1/p' \
    include/strads/program.h include/strads/program_more.h |
    sort -u | while read -r slot; do
    grep -q "^|.*\`$slot\`" "$page" || echo "$page: the table lacks \`$slot\`"
done | grep . && exit 1
exit 0
