#!/bin/sh
# Many processes of one machine start at once: each run gets all of them, on a
# busy machine and while foreign connections crowd the coordinator's port. RUNS
# sets the number of repetitions (./dev soak: 5); SEED draws the number of
# processes.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"
umask 077
runs=${RUNS:-1} many=64
[ -z "$STRADS_SANITIZE" ] || many=20
number=$(awk -v s="${SEED:-$$}" 'BEGIN { srand(s); print 17 + int(47 * rand()) }')
[ "$number" -lt "$many" ] || number=18
awk 'BEGIN {
    srand(1)
    for (i = 0; i < 400; i++) {
        printf "%g", rand()
        for (j = 1; j <= 20; j++) printf " %d:%g", j, rand()
        print ""
    }
}' >few.svm
gives 0 lasso train few.svm --lambda-ratio 0.02 --deterministic \
    --partitions "$many" --seed 5 --model one.json

# Load on the machine
(while :; do :; done) &
busy=$!
(while :; do :; done) &
busy="$busy $!"
children=$busy

for n in $many $number; do
    for run in $(seq "$runs"); do
        gives 0 launch -n "$n" --max-restarts 0 -- lasso train few.svm \
            --lambda-ratio 0.02 --deterministic --partitions "$many" --seed 5 \
            --model "many$n.json"
        same_bits "$n processes, run $run" one.json "many$n.json"
        same "$(grep -c '\] strads: joined' err)" "$((n - 1))" \
            "processes that joined"
    done
done

# As with srun: all connect to one port of the loopback
first=$((20000 + $$ % 12000)) # below the ephemeral ports
for k in $(seq 19 -1 0); do
    STRADS_RANK=$k STRADS_SIZE=20 STRADS_COORDINATOR=127.0.0.1:$first \
        start "rank$k" lasso train few.svm --lambda-ratio 0.02 \
        --deterministic --partitions "$many" --seed 5 --workers 1 \
        --model ranks.json
    eval "rank$k=$child"
done
for k in $(seq 0 19); do
    eval "ends rank$k \$rank$k 0"
done
same_bits "20 ranks" one.json ranks.json

# Foreign connections come faster than nodes send HELLO: nodes that are evicted
# for them connect again
echo "an example of a token" >token
start zero lasso train few.svm --lambda-ratio 0.02 --deterministic \
    --partitions "$many" --seed 5 --workers 1 --nodes 5 \
    --listen tcp://127.0.0.1:0 --token-file token --model crowd.json
zero=$child
url=$(url_of zero)
"$STRADS_BUILD/tests/crowd" "$url" 5000 token >crowd.out &
crowd=$!
for k in 1 2 3 4; do
    start "crowd$k" join "$url" --token-file token --workers 1
    eval "crowd$k=$child"
done
ends zero "$zero" 0
for k in 1 2 3 4; do
    eval "ends crowd$k \$crowd$k 0"
done
kill "$crowd" 2>/dev/null || :
wait "$crowd" || :
same_bits "a run that strangers crowd" one.json crowd.json

# shellcheck disable=SC2086 # numbers
kill $busy
finish
