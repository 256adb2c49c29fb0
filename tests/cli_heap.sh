#!/bin/sh
# The command's heap: a fit gives the same result without huge pages, if the
# heap cannot be extended because of the C library's settings or a lack of
# memory.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# fits MODEL: a fit; its times are removed.
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

# The data segment has only space for the small arrays. Sanitizers need space
# for their shadow memory.
if [ -z "${STRADS_SANITIZE:-}" ]; then
    (ulimit -d 8000 && fits narrow && [ "$failures" -eq 0 ]) ||
        fail "no fit where the heap cannot be widened"
    cmp -s usual narrow || fail "another model where room is short"
fi
finish
