#!/bin/sh
# The gain of rotation: a topic model (lda) and a factorisation (mf), each by the
# same updates on blocks that travel on a ring (ring) and data-parallel, on rows of
# the store that are some clocks old (staleness); mf also by Hogwild, in shared
# memory. with_rotation.c and with_rotation_mf.c describe the methods. Runs on two
# threads, and simulated on 64 nodes. Writes curves to rotation-MODEL-WORKERS.txt
# beside the programs; `./dev reproduce` draws them. Options: --quick; lda or mf.
set -eu
. "$(dirname "$0")/with_data.sh"

programs=$STRADS_BUILD/bench
corpus=$(dirname "$0")/../data/docword.sotu-tiny.txt
topics=20
rank=16
few=2
many=64
sweeps_lda=30
sweeps_mf=20
models="lda mf"
for option in "$@"; do
    case $option in
    --quick)
        sweeps_lda=10
        sweeps_mf=10
        many=16
        ;;
    lda | mf) models=$option ;;
    *)
        echo "rotation knows --quick, lda and mf, not $option" >&2
        exit 2
        ;;
    esac
done
: >"$json"

# last CURVE COLUMN
last()
{
    tail -n 1 "$1" | cut -d ' ' -f "$2"
}

# at CURVE SWEEP: the value reported then; "-" if there is none.
at()
{
    awk -v n="$2" '$1 == n { x = $3 } END { print x ? x : "-" }' "$1"
}

# show MODEL WORKERS: the curves of $methods as a table and as a file.
show()
{
    : >"$programs/rotation-$1-$2.txt"
    for method in $methods; do
        curve=$scratch/$1.$method.$2
        sed "s/^/$method /" "$curve" >>"$programs/rotation-$1-$2.txt"
        half=$(at "$curve" $((sweeps / 2)))
        printf '%7d %-10s %12s %12s %10.3f\n' "$2" "$method" "$half" \
            "$(last "$curve" 3)" "$(last "$curve" 2)"
        [ "$half" != - ] || half=null
        record "rotation_$1" workers "$2" method "$method" half "$half" \
            end "$(last "$curve" 3)" seconds "$(last "$curve" 2)"
    done
}

# compare_lda WORKERS [NS]
compare_lda()
{
    for method in $methods; do
        "$programs/with_rotation" "$method" "$corpus" $topics $sweeps "$@" \
            >"$scratch/lda.$method.$1"
    done
    show lda "$1"
}

# compare_mf WORKERS PARTS [NS]: data-parallel with the best one of PARTS, because
# an item moves too far if many workers add their full moves.
compare_mf()
{
    workers=$1
    parts=$2
    shift 2
    for method in $methods; do
        best=$scratch/mf.$method.$workers
        rm -f "$best"
        for part in $parts; do
            "$programs/with_rotation_mf" "$method" "$scratch/train" \
                "$scratch/test" $rank $sweeps "$workers" "$part" "$@" \
                >"$scratch/one"
            if [ ! -f "$best" ] || awk -v a="$(last "$scratch/one" 3)" \
                -v b="$(last "$best" 3)" 'BEGIN { exit !(a ~ /^[0-9]/ &&
                    (b !~ /^[0-9]/ || a < b)) }'; then
                cp "$scratch/one" "$best"
                chosen=$part
            fi
            [ "$method" != ring ] || break
        done
        [ "$parts" = 1 ] || [ "$method" = ring ] ||
            echo "        staleness $method: adds up $chosen of its moves"
    done
    show mf "$workers"
}

echo "Load $(load) on $(nproc) cores. Seconds on $few workers are of this"
echo "machine, on $many virtual: 1 us a word of a document or a rating, 50 us"
echo "and 10 Gbit/s between nodes."
for model in $models; do
    if [ "$model" = lda ]; then
        sweeps=$sweeps_lda
        methods="ring 0 4 16"
        echo "$sweeps sweeps at $topics topics of the speeches in data/:"
        echo "log-likelihood a token after half of them and after all; seconds"
        printf '%7s %-10s %12s %12s %10s\n' workers method half end seconds
        compare_lda $few
        compare_lda $many 1000
    else
        sweeps=$sweeps_mf
        "$programs/with_synthetic" mf 8000 800 4e5 8 0.5 1 "$scratch/train" \
            "$scratch/test"
        echo "$sweeps sweeps at rank $rank of $(wc -l <"$scratch/train")" \
            "generated ratings with noise 0.5:"
        echo "error of the test after half of them and after all; seconds"
        printf '%7s %-10s %12s %12s %10s\n' workers method half end seconds
        methods="ring hogwild 0 1 4"
        compare_mf $few 1
        methods="ring 0 1 4"
        compare_mf $many "0.125 0.0625 0.03125" 1000
    fi
    echo "curves: $programs/rotation-$model-{$few,$many}.txt"
done
echo
cat "$json"
