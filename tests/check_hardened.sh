#!/bin/sh
# Optimised builds are hardened: the command and the library have full RELRO,
# position-independent code, stack protectors, checked copies and stack probes,
# unless -DSTRADS_HARDEN=OFF is given.
set -eu
export LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cached() { sed -n "s/^$1:[^=]*=//p" "$STRADS_BUILD/CMakeCache.txt"; }
case $(cached CMAKE_BUILD_TYPE) in Rel* | MinSizeRel) ;; *) exit 77 ;; esac
[ "$(cached STRADS_HARDEN)" = ON ] || exit 77

wrong=0
has() { # FILE WHAT PATTERN OPTIONS
    file=$1 what=$2 pattern=$3
    shift 3
    readelf -W "$@" "$file" >"$scratch/elf"
    grep -qE -e "$pattern" "$scratch/elf" && return
    echo "$file: no $what"
    wrong=1
}
for file in "$STRADS_BIN" "$STRADS_BUILD/libstrads.so"; do
    [ -e "$file" ] || { echo "$file is not there"; exit 1; }
    has "$file" "position-independent code" 'Type:.*DYN' -h
    has "$file" RELRO GNU_RELRO -l
    has "$file" "binding at start" 'FLAGS_1.*NOW|\(BIND_NOW\)|FLAGS\).*BIND_NOW' -d
    has "$file" "stack protector" '__stack_chk_fail' --dyn-syms
    has "$file" "checked copies" '__(mem|str|v?sn?printf|read|fread)[a-z]*_chk' \
        --dyn-syms
    ! readelf -W -l "$file" | grep -q 'GNU_STACK.* RWE' ||
        { echo "$file: an executable stack"; wrong=1; }
done
has "$STRADS_BIN" "mark of a position-independent executable" 'FLAGS_1.*PIE' -d

# Probes of large frames leave no symbols, so check the compiler's options.
words=$STRADS_BUILD/compile_commands.json
[ "$(cached STRADS_STACK_CLASH)" != 1 ] ||
    grep -q -e -fstack-clash-protection "$words" ||
    { echo "$words: no -fstack-clash-protection"; wrong=1; }

cmake -S "$STRADS_SOURCE" -B "$scratch/off" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER="$STRADS_CC" -DSTRADS_TESTS=OFF -DSTRADS_BENCH=OFF \
    -DSTRADS_HARDEN=OFF >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
! grep -qE 'stack-(protector|clash)|FORTIFY' "$scratch/off/compile_commands.json" ||
    { echo "STRADS_HARDEN=OFF leaves the options in"; wrong=1; }
exit $wrong
