#!/bin/sh
# Every C fragment in the README is an exact part of the example that it names.
set -eu
export LC_ALL=C
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"

awk '
FILENAME != "README.md" { code = code $0 "\n"; next }
/^```c$/ { inside = 1; line = FNR + 1; text = ""; next }
/^```$/ && inside {
    inside = 0
    n++
    if (!index(code, text)) {
        printf "README.md:%d: this fragment is not in examples/lasso_paper\n", line
        wrong = 1
    }
}
inside { text = text $0 "\n" }
END {
    if (n < 3) print "README.md: only " n + 0 " fragments were found"
    exit wrong || n < 3
}' examples/lasso_paper/*.c README.md
