#!/bin/sh
# strads lda train --scratch: tokens on disk give the bits of tokens in memory.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

corpus=$STRADS_SOURCE/data/docword.sotu-tiny.txt
mkdir disk

# same_model NAME: NAME.json has the counts of memory.json, and no file is left.
same_model() {
    cmp -s memory.json.npy "$1.json.npy" || fail "$1: other bits"
    [ -z "$(ls -A disk)" ] || fail "$1: left $(ls disk)"
}

# Counts of documents as rows and as lists, blocks of a few words and few
# blocks; any number of threads and processes.
for topics in 20 150; do
    for blocks in 4 300; do
        common="lda train $corpus --sweeps 4 --partitions 4 --seed 7 \
            --topics $topics --blocks $blocks"
        gives 0 $common --model memory.json
        for workers in 1 2 4; do
            gives 0 $common --workers $workers --scratch disk --model own.json
            same_model own
        done
    done
    start first $common --workers 1 --nodes 2 --listen tcp://127.0.0.1:0 \
        --scratch "$PWD/disk" --model pair.json
    first=$child
    start second join "$(url_of first)" --workers 1
    second=$child
    ends first "$first" 0
    ends second "$second" 0
    same_model pair

    # Checkpoints are the same as well: either kind resumes the other.
    rm -rf kept
    gives 0 $common --scratch disk --checkpoint kept --max-rounds 3 --quiet
    cp -r kept again
    gives 0 $common --scratch disk --resume kept --model resumed.json
    same_model resumed
    gives 0 $common --resume again --model resumed.json
    same_model resumed
    rm -rf again kept
    gives 0 $common --checkpoint kept --max-rounds 3 --quiet
    gives 0 $common --scratch disk --resume kept --model resumed.json
    same_model resumed
done

# Labels.
awk 'NR <= '"$(sed -n 1p "$corpus")"' { print NR % 3 }' \
    <<end >labels
$(seq "$(sed -n 1p "$corpus")")
end
common="lda train $corpus --sweeps 3 --partitions 2 --topics 9 --labels labels"
gives 0 $common --model memory.json --quiet
gives 0 $common --model own.json --scratch disk --quiet
same_model own

# Nothing is left by a process that is killed at any moment.
for after in 0.05 0.1 0.2 0.4 0.8; do
    start killed lda train "$corpus" --topics 50 --sweeps 100000 \
        --scratch disk --quiet
    sleep "$after"
    kill -9 "$child"
    wait "$child" 2>/dev/null || :
    [ -z "$(ls -A disk)" ] || fail "killed after $after s: left $(ls disk)"
done

refuses 2 "assignments cannot be kept with --scratch" \
    lda train "$corpus" --scratch disk --assignments a.txt
refuses 2 "nowhere: cannot hold the scratch file" \
    lda train "$corpus" --scratch nowhere --quiet
printf '1\n2\n2\n1 1 70000\n1 2 1\n' >long.txt
refuses 2 "document 1 has 70001 tokens, at most 65535 are possible with --scratch" \
    lda train long.txt --topics 3 --scratch disk --quiet
# A budget that cannot be kept to is refused, and says what would help.
refuses 1 "make more blocks of the data on disk (--blocks), " \
    lda train $corpus --topics 100 --scratch disk --memory 17M --quiet
refuses 1 "keep the data on disk (--scratch DIR), " \
    lda train $corpus --topics 100 --memory 17M --quiet
finish
