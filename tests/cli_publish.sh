#!/bin/sh
# --publish sends the lines of the log to readers that speak nng: one that is
# there from the start gets all of them. A reader that stops does not delay the
# run, and too many readers are turned away.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
train="lda train $STRADS_SOURCE/data/docword.sotu-tiny.txt --topics 20 \
    --seed 3 --workers 1"

refuses 2 "ipc:///path or tcp://127.0.0.1:port is expected" $train --sweeps 1 \
    --publish ws://127.0.0.1:7001/run
refuses 2 "ipc:///path or tcp://127.0.0.1:port is expected" $train --sweeps 1 \
    --publish tcp://127.0.0.1:0
refuses 2 "all of them could read the log" $train --sweeps 1 \
    --publish tcp://0.0.0.0:7001
run $train --sweeps 1 --publish "ipc://$folder/try"
! grep -q "nng cannot be loaded\|has no nng" err ||
    { echo "NOT CHECKED: $(cat err)"; exit 77; }
[ "$code" -eq 0 ] || fail "without a reader: $(cat err)"
refuses 2 "cannot listen" $train --sweeps 1 --publish "ipc:///no/such/place"
for tool in nngcat ss; do
    command -v $tool >/dev/null ||
        { echo "NOT CHECKED: readers, for want of $tool"; exit 77; }
done

# publishing NAME SWEEPS: starts a run that waits for its second process, with a
# reader that is connected.
publishing() {
    name=$1
    rm -f "$name.jsonl" "$name.lines"
    start "$name" $train --sweeps "$2" --partitions 2 --nodes 2 \
        --listen "ipc://$folder/$name.node" --publish "ipc://$folder/$name.log" \
        --log "$name.jsonl" --model "$name.model"
    node=$child
    until_there "strads join" "$name.err"
    nngcat --sub0 --dial "ipc://$folder/$name.log" --raw >"$name.lines" 2>nngcat.err &
    reader=$!
    children="$children $reader"
    tries=0
    until [ "$(ss -xH src "$folder/$name.log" | grep -c ESTAB)" -ge 1 ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { fail "the reader does not connect"; break; }
        sleep 0.05
    done
}
# finishes NAME: the second process comes, and both end.
finishes() {
    gives 0 join "ipc://$folder/$1.node" --workers 1
    ends "$1" "$node" 0
}

publishing read 100
finishes read
kill "$reader"
wait "$reader" 2>/dev/null || :
[ "$(wc -l <read.jsonl)" -gt 100 ] || fail "$(wc -l <read.jsonl) lines in the log"
cmp read.jsonl read.lines || fail "the reader has other lines than the log"

# A reader that stops: the run is as fast as without one, in the best of three.
seconds_of() {
    sed -n 's/^{"event": "end".* "seconds": \([0-9.e-]*\).*/\1/p' "$1.jsonl"
}
sweeps=$([ -z "$STRADS_SANITIZE" ] && echo 400 || echo 50)
for turn in 1 2 3; do
    publishing stopped "$sweeps"
    kill -STOP "$reader"
    finishes stopped
    seconds_of stopped >>stopped.seconds
    kill -KILL "$reader"
    wait "$reader" 2>/dev/null || :
    publishing quick "$sweeps"
    kill "$reader"
    wait "$reader" 2>/dev/null || :
    finishes quick
    seconds_of quick >>quick.seconds
done
echo "seconds with a stopped reader: $(sort -g stopped.seconds | tr '\n' ' ')" \
    "without: $(sort -g quick.seconds | tr '\n' ' ')"
python3 - "$(sort -g stopped.seconds | head -n 1)" \
    "$(sort -g quick.seconds | head -n 1)" <<'END' || fail "a stopped reader delays"
import sys
stopped, quick = map(float, sys.argv[1:])
# The claim is 2 %; other tests share the processors.
sys.exit(stopped > 1.3 * quick + 0.3)
END

# 40 readers by hand: 16 get lines, the others are closed.
cat >crowd.py <<'END'
import socket, sys
readers = []
for k in range(40):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(sys.argv[1])
    s.send(b"\0SP\0\0\x21\0\0")
    s.recv(8)
    readers.append(s)
print("there", flush=True)
served = 0
for s in readers:
    try:
        served += len(s.recv(100)) > 9
    except OSError:
        pass
print(served, "served")
END
start crowded $train --sweeps 20 --partitions 2 --nodes 2 \
    --listen "ipc://$folder/crowded.node" --publish "ipc://$folder/crowded.log"
node=$child
until_there "strads join" crowded.err
python3 crowd.py "$folder/crowded.log" >crowd.out &
crowd=$!
children="$children $crowd"
until_there there crowd.out
finishes crowded
wait "$crowd" || fail "the crowd failed"
says crowd.out "16 served"
finish
