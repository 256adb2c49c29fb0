#!/bin/sh
# Two processes in separate network namespaces, as on two machines. The cable
# between them has 100 Mbit/s and is unplugged for 1, 5 and 8 s. A link that
# recovers in time costs nothing. Otherwise the run continues without the
# process, and accepts it when it returns. The result is bit-identical to an
# undisturbed run.
if [ -z "${namespace:-}" ]; then
    for tool in ip tc; do
        command -v $tool >/dev/null || { echo "no $tool: install iproute2"; exit 1; }
    done
    unshare -rn true 2>/dev/null ||
        { echo "NOT CHECKED: cables, for want of network namespaces"; exit 77; }
    namespace=own exec unshare -rn sh "$0"
fi
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

ip link set lo up
unshare -n sleep 1000 &
other=$!
children="$other"
until [ "$(readlink "/proc/$other/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
    sleep 0.05
done
ip link add here type veth peer name there
ip link set there netns "$other"
ip addr add 10.9.0.1/24 dev here
ip link set here up
there() { nsenter -t "$other" -n "$@"; }
there ip link set lo up
there ip addr add 10.9.0.2/24 dev there
there ip link set there up
(umask 077 && echo "a secret of two machines" >token)

# pulled SECONDS WORDS...: such a run; the cable is unplugged after its start.
pulled() {
    seconds=$1
    shift
    rm -f first.jsonl
    start first "$@" --workers 1 --nodes 2 --listen tcp://10.9.0.1:0 \
        --token-file token --partitions 2 --checkpoint-every 1s \
        --checkpoint "checkpoints$seconds" --log first.jsonl --model pulled.model
    first=$child
    url=$(url_of first)
    : >second.err
    there "$STRADS_BIN" join "$url" --workers 1 --token-file token --wait 60 \
        --data "$documents" >second.out 2>second.err </dev/null &
    second=$!
    children="$children $second"
    until_there '"event": "round"' first.jsonl
    ip link set here down
    sleep "$seconds"
    ip link set here up
    ends first "$first" 0
    ends second "$second" 0
    cmp -s whole.model.npy pulled.model.npy || fail "$seconds s: other bits"
}

documents=$STRADS_SOURCE/data/docword.sotu-tiny.txt
# lda SWEEPS: the command; its undisturbed model is whole.model.
lda() {
    lda="lda train $documents --topics 20 --sweeps $1 --seed 3"
    # shellcheck disable=SC2086 # words
    gives 0 $lda --partitions 2 --model whole.model
}

cables="1 5"
[ -z "$STRADS_SANITIZE" ] || cables=1
lda $([ -z "$STRADS_SANITIZE" ] && echo 800 || echo 100)
for seconds in $cables; do
    # shellcheck disable=SC2086 # words
    pulled "$seconds" $lda
    ! grep -q "continues from its last checkpoint" first.err ||
        fail "$seconds s: not mended: $(cat first.err)"
done
if [ -z "$STRADS_SANITIZE" ]; then
    lda 3000
    # shellcheck disable=SC2086 # words
    pulled 8 $lda --reconnect 2
    says first.err "was lost" "continues from its last checkpoint"
    says second.err "now keeps"
fi

# A slow link: the messages of a round must fit through it.
tc qdisc add dev here root tbf rate 100mbit burst 32kbit latency 400ms
# shellcheck disable=SC2086 # words
start first lasso train --no-intercept "$year_train" --lambda-ratio 0.001 --workers 1 --nodes 2 \
    --listen tcp://10.9.0.1:0 --token-file token --partitions 2 --model thin.json
first=$child
there "$STRADS_BIN" join "$(url_of first)" --workers 1 --token-file token \
    --data "$year_train" >second.out 2>second.err </dev/null &
second=$!
children="$children $second"
ends first "$first" 0
ends second "$second" 0
gives 0 lasso train --no-intercept "$year_train" --lambda-ratio 0.001 --partitions 2 \
    --model one.json
near "$(member thin.json objective)" "$(member one.json objective)" 1e-6 \
    "through 100 Mbit/s"
finish
