#!/bin/sh
# The model of membership epochs, engine/run/generations.pml, keeps its
# promises in every order of events that spin explores, and each planted bug is
# found.
set -eu
export LC_ALL=C
model=$(cd "${STRADS_SOURCE:-$(dirname "$0")/..}" && pwd)
model=$model/engine/run/generations.pml
command -v spin >/dev/null || {
    echo "NOT CHECKED: generations, for want of spin"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# search PAN_BUILD PAN_FLAGS MODEL_FLAGS...: spin's output, in `found`
search()
{
    build=$1
    flags=$2
    shift 2
    spin -a "$@" "$model" >spin.log 2>&1 &&
        "${STRADS_CC:-cc}" -w -O1 -DMEMLIM=1500 "$build" -o pan pan.c || {
        cat spin.log
        echo "not a model that spin can run: $*"
        exit 1
    }
    # shellcheck disable=SC2086 # none or several
    ./pan -n -m10000 $flags >found 2>&1 || true
}

keeps()
{
    search "$@"
    if ! grep -q 'errors: 0$' found || grep -q 'not completed' found; then
        cat found
        echo "a promise is broken with $*"
        exit 1
    fi
    echo "$(awk '/states, stored/ { print $1 }' found) states: $*"
}

# finds PROMISE MODEL_FLAGS...
finds()
{
    promise=$1
    shift
    search -DSAFETY "" "$@"
    if ! grep -q "^pan:1: .*$promise" found; then
        cat found
        echo "not found, '$promise' with $*"
        exit 1
    fi
    echo "found, $promise: $*"
}

killed="-DKILLS=1 -DSILENCES=0"
silent="-DKILLS=0 -DSILENCES=1"
# shellcheck disable=SC2086 # lists of flags
{
    keeps -DSAFETY "" $killed
    keeps -DSAFETY "" $silent
    keeps -DNP -l $killed
    keeps -DNP -l $silent
    finds 'got\[' $killed -DCOUNT_OLD
    finds 'count\[1\]' $killed -DTORN_CHECKPOINT
    finds 'asks' $silent -DLOST_LATE
}
