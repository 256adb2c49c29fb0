#!/bin/sh
# The model of the store's protocol, engine/store/protocol.pml, keeps its
# promises in every order of events that spin explores, and each planted bug is
# found.
set -eu
export LC_ALL=C
model=$(cd "${STRADS_SOURCE:-$(dirname "$0")/..}" && pwd)
model=$model/engine/store/protocol.pml
compiler=${STRADS_CC:-cc}

command -v spin >/dev/null || {
    echo "NOT CHECKED: the store's protocol, for want of spin"
    exit 77
}
scratch=$(mktemp -d)
beside=
trap '[ -z "$beside" ] || kill "$beside" 2>/dev/null || :
      rm -rf "$scratch"' EXIT

# search PAN_BUILD PAN_FLAGS [MODEL_FLAGS]: spin's output, in `found`. All steps
# read shared state, so partial-order reduction would not help. Compiling takes
# as long as some hundred thousand states, so optimisation is low.
search()
{
    build=$1
    flags=$2
    shift 2
    rm -f pan pan.*
    # shellcheck disable=SC2086 # several
    spin -a "$@" "$model" >spin.log 2>&1 &&
        "$compiler" -w -DMEMLIM=1500 -DNOREDUCE $build -o pan pan.c || {
        cat spin.log
        echo "not a model that spin can run: $*"
        exit 1
    }
    # shellcheck disable=SC2086 # none or several
    ./pan -n -m10000 $flags >found 2>&1 || true
}

# The search was complete and found no error.
complete()
{
    if ! grep -q 'errors: 0$' found || grep -q 'not completed' found; then
        cat found
        echo "a promise is broken with $*"
        exit 1
    fi
    echo "$(awk '/states, stored/ { print $1 }' found) states: $*"
}

# The searches for cycles and bugs also check array bounds.
keeps()
{
    search "-Og -DNOBOUNDCHECK -DSAFETY" "" "$@"
    complete "$@"
}

# It cannot cycle without terminating either.
ends()
{
    search "-Og -DNP" -l "$@"
    complete "everybody ends, $*"
}

# breaks PROMISE PAN_FLAGS [MODEL_FLAGS]
breaks()
{
    promise=$1
    flags=$2
    shift 2
    search "-O0 -DSAFETY" "$flags" "$@"
    if ! grep -q "^pan:1: .*$promise" found; then
        cat found
        echo "not found, '$promise' with $*"
        exit 1
    fi
    echo "found, $promise: $*"
}

# -E: continue beyond a deadlock to find other effects of the bug.
search_small()
{
    cd "$scratch/small"
    small="-DWORKERS=2 -DSHARDS=1"
    # shellcheck disable=SC2086 # a list of flags
    {
        breaks 'P1_staleness' "" $small -DSTALE_READ
        breaks 'P2_own' "" $small -DSTALENESS=1 -DSTALE_ROWS
        breaks 'P3_once' "" $small -DDOUBLE_COMMIT
        breaks 'P3_once' -E $small -DSKIP -DLOST_ACK
        breaks 'invalid end state' "" $small -DNO_RESEND

        ends $small
        ends $small -DSTALENESS=1
        keeps $small -DSTALENESS=1 -DFLUSHES=1 -DWINDOW=1
        keeps $small -DSTALENESS=1 -DFLUSHES=1
        keeps $small -DSKIP
        keeps $small -DROUGH_WORKERS=2
    }
}

search_large()
{
    cd "$scratch/large"
    keeps -DSTALENESS=1 -DWORKERS=2
    breaks 'P1_staleness' "" -DALIKE -DSTALE_READ
    keeps -DALIKE -DSTALENESS=1 -DSHARDS=1
    keeps -DALIKE -DSTALENESS=1 -DONE_FAULT
    keeps -DALIKE -DSTALENESS=0
}

# In parallel, on two cores.
mkdir "$scratch/small" "$scratch/large"
search_large &
beside=$!
search_small
wait "$beside"
beside=
