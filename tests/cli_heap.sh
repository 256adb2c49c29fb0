#!/bin/sh
# The command's heap: a fit gives the same where the heap's end cannot be moved,
# by the C library's settings or for want of room, and so gets no huge pages.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# fits MODEL: a fit, but for its times.
fits() {
    gives 0 lasso train --no-intercept "$year_train" --deterministic --workers 1 --quiet \
        --model model.json
    sed 's/"seconds": [^,]*//' model.json >"$1"
}

fits usual
GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536
export GLIBC_TUNABLES
fits mapped
unset GLIBC_TUNABLES
cmp -s usual mapped || fail "another model where arrays are mapped"

# The data segment is as large as the small arrays are. Sanitizers want room for
# their shadows.
if [ -z "${STRADS_SANITIZE:-}" ]; then
    (ulimit -d 8000 && fits narrow && [ "$failures" -eq 0 ]) ||
        fail "no fit where the heap cannot be widened"
    cmp -s usual narrow || fail "another model where room is short"
fi
finish
