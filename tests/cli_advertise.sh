#!/bin/sh
# Three processes behind forwarded ports: each listens at one address and gives
# the others another one by --advertise. A relay stands
# for the forwarding. When it cuts the connections they are dialled again through
# it, and the result is bit-identical to that of one process.
if [ -z "${namespace:-}" ]; then
    unshare -rn true 2>/dev/null && command -v ip >/dev/null ||
        { echo "NOT CHECKED: forwarded ports, for want of namespaces"; exit 77; }
    namespace=own exec unshare -rn sh "$0"
fi
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
ip link set lo up
documents=$STRADS_SOURCE/data/docword.sotu-tiny.txt
sweeps=$([ -z "$STRADS_SANITIZE" ] && echo 150 || echo 60)
lda="lda train $documents --topics 20 --sweeps $sweeps --seed 3 --partitions 3"
(umask 077 && echo "a secret of three machines" >token)

# forward NAME PORT: sets $forwarded to the URL at which NAME's relay takes
# connections to that port, and $relay to its process.
forward() {
    : >"$1.relay"
    "$STRADS_BUILD/tests/relay" "tcp://127.0.0.1:$2" 1 1 0 >"$1.relay" &
    relay=$!
    children="$children $relay"
    until_there "tcp://" "$1.relay"
    forwarded=$(head -n 1 "$1.relay")
}

# cuts NAME PROCESS: ends the relay and returns whether it has cut connections.
cuts() {
    kill -TERM "$2"
    wait "$2" || :
    [ "$(sed -n 2p "$1.relay")" -ge 1 ]
}

# shellcheck disable=SC2086 # words
gives 0 $lda --model whole.model

forward first 7000
first_relay=$relay
# shellcheck disable=SC2086 # words
start first $lda --workers 1 --nodes 3 --listen tcp://127.0.0.1:7000 \
    --advertise "$forwarded" --token-file token --log first.jsonl \
    --model forwarded.model
first=$child
url=$(url_of first)
[ "$url" = "$forwarded" ] || fail "node 0 prints $url, not $forwarded"
forward second 7001
second_relay=$relay
start second join "$url" --workers 1 --token-file token --data "$documents" \
    --listen tcp://127.0.0.1:7001 --advertise "$forwarded"
second=$child
forward third 7002
third_relay=$relay
start third join "$url" --workers 1 --token-file token --data "$documents" \
    --listen tcp://127.0.0.1:7002 --advertise "$forwarded"
third=$child
until_there '"event": "round"' first.jsonl
kill -USR1 "$first_relay" "$second_relay" "$third_relay"
ends first "$first" 0
ends second "$second" 0
ends third "$third" 0
cmp -s whole.model.npy forwarded.model.npy || fail "forwarded ports: other bits"
cuts first "$first_relay" || fail "node 0 was not reached through its relay"
# Whichever of these is node 1, the other has dialled it.
cuts second "$second_relay" && met=1 || met=0
cuts third "$third_relay" && met=1
[ "$met" = 1 ] || fail "node 1 was not reached through its relay"

# Addresses that cannot be dialled, and options that miss each other
refuses 2 "other nodes cannot dial it" join "$url" --token-file token \
    --listen tcp://127.0.0.1:0 --advertise tcp://0.0.0.0:7001
refuses 2 "other nodes cannot dial it" join "$url" --token-file token \
    --listen tcp://127.0.0.1:0 --advertise tcp://127.0.0.1:0
refuses 2 "give --listen URL as well" join "$url" --token-file token \
    --advertise tcp://127.0.0.1:7001
refuses 2 "expected" join "$url" --token-file token \
    --listen tcp://127.0.0.1:0 --advertise 127.0.0.1:7001
# shellcheck disable=SC2086 # words
refuses 2 "--advertise needs --listen URL" $lda --advertise tcp://127.0.0.1:7001
refuses 2 "--advertise behind --: launch sets the addresses" launch \
    -- lasso train "$year_train" --advertise tcp://127.0.0.1:7001
finish
