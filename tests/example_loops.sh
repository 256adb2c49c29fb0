#!/bin/sh
# examples/loop_lda, loop_mf, mlp and triangles, as their READMEs describe:
# built outside the tree against an installed library. Losses fall, and without
# staleness concurrent workers do not change the result.
. "$STRADS_SOURCE/tests/example_harness.shlib"

for name in loop_lda loop_mf mlp triangles; do
    builds "$name"
done

# trains NAME DATA WORDS...: the model is NAME.json; `curve` has the
# objectives.
trains() {
    name=$1 data=$2
    shift 2
    gives 0 run "$name.so" "$data" --model "$name.json" \
        --log "$name.jsonl" --quiet "$@"
    sed -n 's/.*"event": "round".*"objective": \([-0-9.e]*\).*/\1/p' \
        "$name.jsonl" >curve
}
falls() { # SHARE: the last objective is at most SHARE times the first
    awk -v share="$1" 'NR == 1 { first = $1 } { last = $1 }
        END { exit !(NR > 1 && last <= share * first) }' curve ||
        fail "$name: from $(head -1 curve) to $(tail -1 curve)"
}
values() { sed -n 's/.*"value": \[\(.*\)\].*/\1/p' "$1" | tr ',' '\n'; }

# alike ONE OTHER BOUND: no value differs by more
alike() {
    values "$1" >one.values
    values "$2" >other.values
    paste one.values other.values | awk -v bound="$3" '{
        d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d
    } END { if (!(NR > 0 && most <= bound)) { print most; exit 1 } }' >far ||
        fail "$1 and $2 differ by $(cat far)"
}

# goes_on BOUND NAME DATA WORDS...: a run that is stopped repeatedly ends like
# an uninterrupted one; integers are bit-identical.
goes_on() {
    bound=$1 name=$2 data=$3
    shift 3
    gives 0 run "$name.so" "$data" --model whole.json --quiet "$@"
    from="--checkpoint checkpoints" parts=0 part=30
    [ -z "$STRADS_SANITIZE" ] || part=300
    rm -rf checkpoints
    until [ "$parts" -gt 0 ] && ! grep -q "to continue" stop.err; do
        # shellcheck disable=SC2086 # words
        gives 0 run "$name.so" "$data" --model parts.json \
            --time-limit "$((part / 1000)).$(printf %03d $((part % 1000)))s" \
            $from "$@"
        cp err stop.err
        from="--resume checkpoints" parts=$((parts + 1))
        # On a slow machine such a short part may make no progress.
        [ $((parts % 25)) -ne 0 ] || part=$((part * 2))
        [ "$parts" -lt 200 ] || break
    done
    [ "$parts" -gt 1 ] && [ "$parts" -lt 200 ] || fail "$name: $parts parts"
    alike whole.json parts.json "$bound"
}

# Counts are integers: the same bits in any order of workers.
corpus=$STRADS_SOURCE/data/docword.sotu-tiny.txt
trains loop_lda "$corpus" --sweeps 20 --partitions 2 --workers 1
falls 0.93
mv loop_lda.json alone.json
trains loop_lda "$corpus" --sweeps 20 --partitions 2 --workers 2
alike alone.json loop_lda.json 0
goes_on 0 loop_lda "$corpus" --sweeps 20 --partitions 2
values loop_lda.json | awk '{ n += $1 } END { print n / 2 }' >tokens
same "$(cat tokens)" "$(awk 'NR > 3 { n += $3 } END { print n }' "$corpus")" \
    "tokens that are counted"
trains loop_lda "$corpus" --sweeps 40 --workers 2 --staleness 3
falls 0.97 # the amount depends on the order of workers

votes=$STRADS_SOURCE/data/unvotes-tiny.txt
for partitions in 1 2; do
    trains loop_mf "$votes" --partitions $partitions --workers $partitions
    falls 0.6
    mv loop_mf.json "mf$partitions.json"
done
alike mf1.json mf2.json 1e-9
for run in 1 2 3 4 5; do
    trains loop_mf "$votes" --workers 2
    alike mf2.json loop_mf.json 0
done
goes_on 0 loop_mf "$votes" --sweeps 300 --partitions 2
trains loop_mf "$votes" --workers 2 --staleness 3
falls 0.6

sed 's/^-1/0/; s/^+1/1/' "$party" >party.svm
for partitions in 1 2; do
    trains mlp party.svm --epochs 20 --step 2 --partitions $partitions \
        --workers $partitions
    falls 0.5
    tail -1 mlp.jsonl >last
    awk -v x="$(member last gradient_error)" \
        'BEGIN { exit !(x > 0 && x <= 1e-6) }' ||
        fail "the gradient is $(member last gradient_error) off"
    mv mlp.json "mlp$partitions.json"
done
alike mlp1.json mlp2.json 1e-9
goes_on 1e-9 mlp party.svm --epochs 20 --step 2 --partitions 2
refuses 2 "--classes: labels are 0 and up" run mlp.so "$party" --quiet

# Three groups: the best of some starts finds them. Each motif counts three
# times: open ones at their middle, closed ones once each.
awk 'BEGIN { srand(4)
    for (i = 0; i < 60; i++) for (j = i + 1; j < 60; j++)
        if (rand() < (i % 3 == j % 3 ? 0.8 : 0.02)) print "n" i, "n" j }' >links
awk '{ to[$1, $2] = to[$2, $1] = 1; node[$1]; node[$2] } END {
    for (i in node) for (j in node) for (k in node)
        if (j < k && (i, j) in to && (i, k) in to) {
            if ((j, k) in to) closed++; else open++ }
    print 3 * (open + closed / 3) }' links >motifs
least=
for seed in 1 2 3 4; do
    trains triangles links --roles 3 --sweeps 300 --partitions 2 --workers 2 \
        --seed $seed
    cost=$(tail -1 curve)
    if [ -z "$least" ] ||
        awk -v a="$cost" -v b="$least" 'BEGIN { exit !(a < b) }'; then
        least=$cost
        cp triangles.json best.json
        cp curve best.curve
    fi
done
goes_on 0 triangles links --roles 3 --sweeps 300 --partitions 2
mv best.curve curve
falls 0.5
same "$(values best.json | awk '{ n += $1 } END { print n }')" "$(cat motifs)" \
    "roles of motifs"
sed -n 's/.*"names": \[\(.*\)\].*/\1/p' best.json | tr -d '" n' | tr ',' '\n' >node
values best.json | paste - - - | paste node - | awk '{
    role = $2 >= $3 && $2 >= $4 ? 1 : $3 >= $4 ? 2 : 3
    n[role, $1 % 3]++ } END {
    for (r = 1; r <= 3; r++) { most = 0
        for (g = 0; g < 3; g++) if (n[r, g] > most) most = n[r, g]
        all += most }
    print all / NR; exit !(all >= 0.9 * NR) }' >found ||
    fail "roles have $(cat found) of their groups"
finish
