#!/bin/sh
# A run of several processes from one command line: by environment variables,
# by mpirun, and by srun with Slurm daemons that this test starts.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

common="lasso train --no-intercept $year_train --lambda-ratio 0.02 --deterministic"
common="$common --partitions 6 --seed 5"
gives 0 $common --model one.json

# ranks SIZE WORDS...: starts that many processes with STRADS_RANK; collects
# their exit codes in `codes`.
ranks() {
    size=$1 pids='' codes=''
    shift
    for rank in $(seq 0 $((size - 1))); do
        STRADS_RANK=$rank STRADS_SIZE=$size "$STRADS_BIN" "$@" \
            >"rank$rank.out" 2>"rank$rank.err" </dev/null &
        pids="$pids $!"
    done
    for pid in $pids; do
        code=0
        wait "$pid" || code=$?
        codes="$codes$code "
    done
}

export STRADS_COORDINATOR="127.0.0.1:$((20000 + $$ % 20000))"
export STRADS_TOKEN="an example of a token"
ranks 3 $common --workers 1 --model three.json
same "$codes" "0 0 0 " "ranks by hand"
same_bits "ranks by hand" one.json three.json
says rank2.err "joined tcp://$STRADS_COORDINATOR: program lasso"
words="lda train $STRADS_SOURCE/README.md --kind text --topics 3 --sweeps 2"
ranks 2 $words --stop-words "$STRADS_SOURCE/data/sotu-tiny.vocab.txt" \
    --workers 1 --model topics.json
same "$codes" "0 0 " "ranks with words of their own: $(cat rank1.err)"
unset STRADS_TOKEN

# Contradictory options are reported
export STRADS_RANK=3 STRADS_SIZE=2
refuses 2 "STRADS_RANK is 3 and STRADS_SIZE 2; a rank must be below the size" $common
export STRADS_RANK=0 STRADS_SIZE=two
refuses 2 'STRADS_SIZE is "two"; expected a whole number' $common
export STRADS_SIZE=2 STRADS_COORDINATOR=nowhere
refuses 2 "expected HOST:PORT" $common
unset STRADS_COORDINATOR
refuses 2 "have no address to join; set STRADS_COORDINATOR" $common
export STRADS_COORDINATOR=127.0.0.1:1
refuses 2 "is for one process, and STRADS_RANK has started 2" \
    lasso cv "$year_train"
unset STRADS_RANK STRADS_SIZE STRADS_COORDINATOR

# In a batch script, Slurm's variables are set but no other process runs
export SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4
gives 0 $common --model alone.json
unset SLURM_JOB_ID SLURM_PROCID SLURM_NTASKS SLURM_STEP_NUM_TASKS

# Launchers load libraries in which sanitizers find leaks.
[ -z "$STRADS_SANITIZE" ] || finish

mpirun="mpirun --oversubscribe"
[ "$(id -u)" -ne 0 ] || mpirun="$mpirun --allow-run-as-root"
$mpirun -n 3 "$STRADS_BIN" $common --workers 1 --model mpi.json >out 2>err ||
    fail "mpirun: $(cat err)"
same_bits "mpirun" one.json mpi.json
says err "waiting for 2 more processes"
code=0
timeout 60 $mpirun -n 2 "$STRADS_BIN" lasso train --no-intercept none.svm --model none.json \
    >out 2>err || code=$?
[ "$code" -ne 0 ] && [ "$code" -ne 124 ] ||
    fail "mpirun without data: exit code $code"
says err "none.svm: cannot be read"

[ "$(id -u)" -eq 0 ] || finish # Slurm's daemons want root
host=$(hostname -s)
mkdir -p slurm/state slurm/n1 slurm/n2
port=$((20000 + ($$ * 7) % 20000))
cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/slurm/state
SlurmdSpoolDir=$folder/slurm/%n
SlurmctldPidFile=$folder/slurm/ctld.pid
SlurmdPidFile=$folder/slurm/%n.pid
SlurmctldLogFile=$folder/slurm/ctld.log
SlurmdLogFile=$folder/slurm/%n.log
ReturnToService=2
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$folder/slurm.conf"
# The daemons save their state as they end, so wait before removing the folder.
stop_slurm() {
    daemons=$(cat slurm/*.pid 2>/dev/null) || :
    scontrol shutdown 2>/dev/null || :
    # shellcheck disable=SC2086 # numbers
    kill $daemons 2>/dev/null || :
    tries=0
    for daemon in $daemons; do
        while [ "$tries" -lt 200 ] && kill -0 "$daemon" 2>/dev/null; do
            tries=$((tries + 1))
            sleep 0.05
        done
    done
}
trap 'stop_slurm; rm -rf "$folder"' EXIT

slurmctld -f "$SLURM_CONF"
slurmd -f "$SLURM_CONF" -N n1
slurmd -f "$SLURM_CONF" -N n2
tries=0
until [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { fail "Slurm: $(cat slurm/*.log)"; break; }
    sleep 0.1
done
# A rank that never joins is not waited for forever.
code=0
STRADS_RANK=0 STRADS_SIZE=3 STRADS_COORDINATOR=127.0.0.1:$((21000 + $$ % 20000)) \
    timeout 60 "$STRADS_BIN" $common --gather 0.5 --model alone.json \
    >out 2>err || code=$?
[ "$code" -eq 2 ] || fail "a rank that never joins: exit code $code: $(cat err)"
says err "2 of 3 nodes have not joined in time"

timeout 120 srun -N 1 -n 3 --overcommit "$STRADS_BIN" $common --workers 1 \
    --model srun.json >out 2>err || fail "srun: $(cat err)"
same_bits "srun" one.json srun.json
timeout 120 srun --mpi=pmix -N 1 -n 2 --overcommit "$STRADS_BIN" $common \
    --workers 1 --model pmix.json >out 2>err || fail "srun by PMIx: $(cat err)"
same_bits "srun by PMIx" one.json pmix.json
export STRADS_COORDINATOR="127.0.0.1:$((port + 3))"
export STRADS_TOKEN="an example of a token"
timeout 120 srun -N 2 -n 2 "$STRADS_BIN" $common --workers 1 \
    --model nodes.json >out 2>err || fail "srun on two nodes: $(cat err)"
same_bits "srun on two nodes" one.json nodes.json
finish
