#!/bin/sh
# Foreign clients connect to a run of two processes, over each transport, while
# it waits for its second process and while it trains: none is let in, they cost
# node 0 little memory, few descriptors and little CPU time, all descriptors are
# free again afterwards, and the model has the same bits. STRANGERS is their
# number, twice for each transport: STRANGERS=10000 takes minutes.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
umask 077
strangers=${STRANGERS:-300}
most=65536 each=5 # KiB, and ms of CPU for a stranger
if [ -n "$STRADS_SANITIZE" ]; then
    most=$((4 * most)) each=100 # freed memory is kept for a while
    strangers=${STRANGERS:-120}
fi
sweeps=$((70 + strangers / 10)) # so that the run lasts until they have come
echo "an example of a token" >token
echo "an example of a token of theirs" >another
for name in ours theirs; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -days 2 -keyout "$name.key" -out "$name.pem" -subj "/CN=$name" \
        2>openssl.err || fail "openssl: $(cat openssl.err)"
done
cp ours.pem ours.ca
cat ours.pem theirs.pem >theirs.ca # they accept the run; it must refuse them
documents=$STRADS_SOURCE/data/docword.sotu-tiny.txt
lda="lda train $documents --topics 20 \
    --sweeps $sweeps --partitions 2 --seed 5"
gives 0 $lda --model whole.json

# crowd COUNT OURS THEIRS: strangers of the present run. Prints what they saw.
crowd() {
    "$STRADS_BUILD/tests/crowd" "$url" "$1" "$2" "$3" "$first" >crowd.out ||
        fail "$run: the strangers failed"
    echo "$run: $(cat crowd.out)"
}

# bounded: none was let in, at these costs. 16 strangers of one address and 64
# evicted ones are open at a time.
bounded() {
    says crowd.out " 0 were let in"
    sed 's/.*; \([0-9]*\) to \([0-9]*\) descriptors, \([0-9]*\) to \([0-9]*\) KiB, \(.*\) ms.*/\1 \2 \3 \4 \5/' \
        crowd.out >costs
    awk -v most="$most" -v each="$each" '
        { exit !(NF == 5 && $2 - $1 <= 88 && $4 - $3 < most && $5 < each) }' \
        costs || fail "$run: strangers are expensive: $(cat crowd.out)"
}

# attack NAME URL OURS THEIRS OPTIONS: a run at URL.
attack() {
    run=$1
    start first $lda --workers 1 --nodes 2 --listen "$2" $5 \
        --model "$run.json" --log "$run.jsonl"
    first=$child
    url=$(url_of first)
    before=$(ls "/proc/$first/fd" | wc -l)
    crowd 6 "$3" "$3"
    says crowd.out "6 came, 1 were let in" # so that 0 means something
    crowd "$strangers" "$3" "$4"
    says crowd.out "$strangers came"
    bounded
    ! grep -q " 0 were refused" crowd.out || fail "$run: none was refused"
    tries=0
    while [ "$(ls "/proc/$first/fd" | wc -l)" -gt "$before" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || { fail "$run: descriptors stay open"; break; }
        sleep 0.1
    done
    start second join "$url" $5 --workers 1 --data "$documents"
    second=$child
    until_there '"event": "round"' "$run.jsonl"
    crowd "$strangers" "$3" "$4"
    bounded
    ! grep -q "^0 came" crowd.out || fail "$run: it ended before they came"
    ends first "$first" 0
    ends second "$second" 0
    cmp -s whole.json.npy "$run.json.npy" ||
        fail "$run: strangers changed the topics"
}

by_token="--token-file token"
by_certificate="--tls-ca ours.ca --tls-cert ours.pem --tls-key ours.key"
attack tcp tcp://127.0.0.1:0 token another "$by_token"
attack ipc "ipc://$folder/node" token another "$by_token"
attack certificates tls+tcp://127.0.0.1:0 ours theirs "$by_certificate"
run join ws://127.0.0.1:1/run --timeout 0.1
if grep -q "nng" err; then
    echo "NOT CHECKED: strangers over ws://: $(cat err)"
    finish
fi
attack ws ws://127.0.0.1:0/run token another "$by_token"
attack ws-certificates ws://127.0.0.1:0/run ours theirs "$by_certificate"
finish
