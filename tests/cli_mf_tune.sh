#!/bin/sh
# strads mf train without options: the choice in one line, its fits in the log,
# the choice in the model; predictions within the range, for every pair; one
# choice for any number of workers and processes; options that end the search.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

votes=$STRADS_SOURCE/data/unvotes-tiny.txt
awk '(NR * 7919) % 10 == 3' "$votes" >votes.test
awk '(NR * 7919) % 10 != 3' "$votes" >votes.train

gives 0 mf train votes.train --test votes.test --workers 2 --model m.json \
    --log run.jsonl
cp err first.err
says err "strads: chosen: rank " "the best of " "fits on 60073 ratings" \
    "error: training"
same "$(grep -c '^strads: chosen' err)" 1 "lines about the choice"
says run.jsonl '"event": "trial", "rank": 0, "lambda": 0, ' '"chosen": true'
same "$(grep -c '"chosen": true' run.jsonl)" 1 "chosen fits"
same "$(grep -c '"event": "trial"' run.jsonl)" \
    "$(sed -n 's/.*the best of \([0-9]*\) fits.*/\1/p' err)" "fits in the log"
# The best one of the log is the choice, and the model has its options
rank=$(sed -n 's/.*"rank": \([0-9]*\),.*"chosen": true.*/\1/p' run.jsonl)
says m.json "\"rank\": $rank," '"holdout": 0' '"lambda": 0.' '"range": ['
same "$(sed -n 's/.*"validation_rmse": \([^,]*\),.*"chosen": \(.*\),.*/\1 \2/p' \
    run.jsonl | sort -g | head -n 1 | cut -d ' ' -f 2 | cut -d , -f 1)" \
    true "the least held-out error"

# Better than rank 16 without a search
gives 0 mf evaluate m.json votes.test
tuned=$(member out rmse)
gives 0 mf train votes.train --tune 0 --model plain.json --quiet
gives 0 mf evaluate plain.json votes.test
near "$(awk -v a="$tuned" -v b="$(member out rmse)" \
    'BEGIN { print (a < .99 * b) }')" 1 0 "$tuned against $(member out rmse)"

# Predictions are within -1 .. 1, also for unknown users and items; --no-clip
awk 'BEGIN { for (u = 0; u < 194; u += 3) for (i = 0; i < 402; i += 7)
    print u, i, 0 }' >pairs
gives 0 mf predict m.json pairs --quiet
same "$(wc -l <out)" "$(wc -l <pairs)" "predictions"
same "$(awk '$3 < -1 || $3 > 1 || $3 != $3 + 0' out | wc -l)" 0 "out of range"
gives 0 mf train votes.train --tune 0 --no-clip --model free.json --quiet
says free.json '"range": null'
gives 0 mf predict free.json pairs --quiet
near "$(awk '$3 > 1' out | awk 'END { print (NR > 0) }')" 1 0 \
    "predictions above the range with --no-clip"

# A model without the new members is read as before
sed -e '/"range": \[/,/\]/d' -e '/"damping"/d' -e '/"lift"/d' -e '/"raise"/d' \
    -e '/"seed": 0,$/ { /^ "/ s/,$// }' m.json >old.json
for side in users items; do
    cp m.json.$side.npy old.json.$side.npy
done
! grep -q range old.json || fail "the old model has a range"
gives 0 mf predict old.json pairs --quiet
near "$(awk '$3 > 1' out | awk 'END { print (NR > 0) }')" 1 0 \
    "predictions of an old model are clipped"

# Workers and processes do not matter
gives 0 mf train votes.train --workers 1 --partitions 2 --model alone.json \
    --tune 5
grep chosen err >alone.chosen
gives 0 mf train votes.train --workers 2 --partitions 2 --model two.json \
    --tune 5
grep chosen err >two.chosen
on_two 0 mf train votes.train --model nodes.json --tune 5
grep chosen first.err >nodes.chosen
for name in two nodes; do
    cmp -s alone.chosen $name.chosen || fail "$name: $(cat $name.chosen)"
    for side in users items; do
        cmp -s alone.json.$side.npy $name.json.$side.npy ||
            fail "$name: other $side"
    done
done

# Biases alone: predict, evaluate, show, recommend
gives 0 mf train votes.train --rank 0 --test votes.test --model b.json
says err "error: training"
same "$(grep -c chosen err)" 0 "lines about a choice"
gives 0 mf evaluate b.json votes.test
same "$(grep -o '"ratings": [0-9]*' out)" '"ratings": 6675' "ratings"
gives 0 mf show b.json
same "$(head -n 1 out)" "item,bias" "the header"
gives 0 mf recommend b.json --user 3 --top 2 --quiet
same "$(wc -l <out)" 2 "items"
gives 0 mf recommend b.json --fold-in votes.test --top 1 --quiet

# Nothing is searched
for fixed in "--rank 3 --lambda .1 --step .05" "--tune 0 --rank 2" \
    "--method als --rank 2 --lambda .1"; do
    # shellcheck disable=SC2086 # words
    gives 0 mf train votes.train --sweeps 2 $fixed
    ! grep -q chosen err || fail "$fixed: $(grep chosen err)"
done
gives 0 mf train votes.train --rank 3 --sweeps 2 --tune 3
says err "chosen: rank 3, lambda "
gives 0 mf train votes.train --nonnegative --method ccd++ --sweeps 3 --tune 3 \
    --model parts.json
gives 0 mf show parts.json
same "$(awk -F, 'NR > 1 { for (k = 3; k <= NF; k++) if ($k < 0) n++ }
    END { print n + 0 }' out)" 0 "negative factors"
printf '0 0 2\n' >one.txt
gives 0 mf train one.txt

# Invalid input
refuses 2 "tune" mf train votes.train --tune 65
refuses 2 "stop-after" mf train votes.train --stop-after 0
finish
