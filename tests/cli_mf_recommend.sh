#!/bin/sh
# strads mf recommend and the rankings of evaluate, on countries' votes: lists
# against sorted predictions, folded-in users against the model's.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

votes=$STRADS_SOURCE/data/unvotes-tiny.txt
awk '(NR * 7919) % 10 == 3' "$votes" >votes.test
awk '(NR * 7919) % 10 != 3' "$votes" >votes.train
named() {
    awk 'BEGIN { print "country,resolution,vote" }
        { print "c" $1 ",r" $2 "," $3 }' "$1"
}
named votes.train >named.csv

gives 0 mf train votes.train --tune 0 --no-clip --method als --rank 8 --lambda 0.05 \
    --holdout 1e-9 --workers 2 --model m.json --quiet
gives 0 mf train named.csv --tune 0 --no-clip --method als --rank 8 --lambda 0.05 \
    --holdout 1e-9 --workers 2 --model n.json --quiet

# A user's list is the top of its sorted predictions, without the rated items
awk 'BEGIN { for (i = 0; i < 400; i++) print 7, i, 0 }' >pairs
gives 0 mf predict m.json pairs --quiet --output predictions
awk 'FNR == NR { if ($1 == 7) seen[$2]; next }
    !($2 in seen) { print $3 "\t" $2 }' votes.train predictions |
    sort -k1,1gr -k2,2n | awk 'NR <= 5 { print $2 }' >wanted
gives 0 mf recommend m.json --user 7 --top 5 --exclude votes.train --quiet
same "$(cut -f 2 out)" "$(cat wanted)" "the top of user 7"
same "$(cut -f 1 out | sort -u)" 7 "the user"

# By name, in three formats
gives 0 mf recommend n.json --user c7 --top 2 --exclude named.csv --quiet
same "$(wc -l <out)" 2 "lines"
first=$(head -n 1 out | cut -f 2)
same "$(echo "$first" | cut -c 1)" r "an item's name"
! grep -q "^c7,$first," named.csv || fail "$first was seen"
gives 0 mf recommend n.json --user c7 --top 2 --exclude named.csv --quiet \
    --format csv --output list.csv
same "$(head -n 1 list.csv)" "user,rank,item,score" "the header"
same "$(sed -n 2p list.csv | cut -d , -f 1-3)" "c7,1,$first" "the first line"
gives 0 mf recommend n.json --user c7 --top 2 --exclude named.csv --quiet \
    --format json
says out '{"user": "c7", "items": [{"item": "'"$first"'", "score": '
printf 'c3\nc7\n' >users
gives 0 mf recommend n.json --users users --top 2 --exclude named.csv --quiet
same "$(cut -f 1 out | tr '\n' ' ')" "c3 c3 c7 c7 " "users of a file"
gives 0 mf recommend m.json --top 1 --quiet
same "$(wc -l <out)" 193 "all users"

# Given lists of items
printf 'r3\nr5\nr9\n' >some
gives 0 mf recommend n.json --user c7 --top 5 --allow some --quiet
same "$(cut -f 2 out | sort | tr '\n' ' ')" "r3 r5 r9 " "allowed items"
printf 'r5\n' >one
gives 0 mf recommend n.json --user c7 --top 5 --allow some --forbid one --quiet
same "$(cut -f 2 out | sort | tr '\n' ' ')" "r3 r9 " "allowed, not forbidden"
gives 0 mf recommend n.json --user c7 --top 1 --quiet
cut -f 2 out >one
gives 0 mf recommend n.json --user c7 --top 400 --forbid one --quiet
same "$(wc -l <out)" 399 "all but one"
! cut -f 2 out | grep -qx "$(cat one)" || fail "a forbidden item"
echo r1000 >bad
refuses 2 'no item called "r1000"' mf recommend n.json --forbid bad
echo 400 >bad
refuses 2 '"400" is no item of the model' mf recommend m.json --allow bad

# Similar items: the largest cosines of the factors that `mf show` writes
gives 0 mf show n.json --of items --output items.csv
for side in items users; do
    gives 0 mf show n.json --of $side --output rows.csv
    first=$(sed -n 2p rows.csv | cut -d , -f 1)
    awk -F, -v of="$first" 'NR == 1 { next }
        { for (k = 3; k <= NF; k++) { x[NR, k] = $k; n[NR] += $k * $k } name[NR] = $1 }
        END { for (i = 2; i <= NR; i++) if (name[i] == of) me = i
            for (i = 2; i <= NR; i++) { d = 0
                for (k = 3; k <= NF; k++) d += x[i, k] * x[me, k]
                if (i != me && n[i] > 0)
                    printf "%.7f\t%s\n", d / sqrt(n[i] * n[me]), name[i] } }' rows.csv |
        sort -k1,1gr | head -n 4 | cut -f 2 >wanted
    gives 0 mf similar n.json --of $side --id "$first" --top 4
    same "$(cut -f 2 out)" "$(cat wanted)" "similar $side"
    gives 0 mf similar n.json --of $side --top 2 --format csv
    same "$(head -n 1 out)" "${side%s},similar,cosine" "the header"
    same "$(sed -n 2,3p out | cut -d , -f 2)" "$(head -n 2 wanted)" "of all $side"
done
refuses 2 "one of --id" mf similar n.json --id r3 --ids some
refuses 2 'no item called "c7"' mf similar n.json --id c7

# Items without ratings have no factors: neither listed nor compared
printf '0 0 1\n0 1 2\n1 1 3\n1 3 2\n2 0 4\n2 3 1\n' >gap.txt
gives 0 mf train gap.txt --rank 2 --tune 0 --model gap.json --quiet
gives 0 mf similar gap.json --top 2
same "$(cut -f 1 out | uniq | tr '\n' ' ')" "0 1 3 " "items with factors"
refuses 2 "item 2 has no ratings" mf similar gap.json --id 2

# Vectors: an item's factors and bias, a user's factors and 1
gives 0 mf export n.json --ann vectors
same "$(wc -c <vectors/items.npy)" "$((128 + 400 * 9 * 4))" "bytes of items"
same "$(cat vectors/items.txt)" "$(sed 1d items.csv | cut -d , -f 1)" "ids of items"
same "$(wc -l <vectors/users.txt)" 193 "ids of users"
near "$(od -An -tf4 -j 128 -N 36 -w36 vectors/items.npy | awk '{ print $9 }')" \
    "$(sed -n 2p items.csv | cut -d , -f 2)" 1e-5 "a bias"
near "$(od -An -tf4 -j 128 -N 36 -w36 vectors/users.npy | awk '{ print $9 }')" 1 0 "a 1"
refuses 2 "needs --ann DIR" mf export n.json

# A header with unusual columns, and one with two candidates
awk -F, 'NR == 1 { print "who,vote,what,score" } NR > 1 { print $1 "," $3 "," $2 ",9" }' \
    named.csv >odd.csv
refuses 2 '--user NAME --item NAME --rating NAME' mf train odd.csv
refuses 2 "has no column 'nobody', which --user names" \
    mf train odd.csv --user nobody
gives 0 mf train odd.csv --user who --item what --rating vote --test odd.csv \
    --method als --rank 8 --lambda 0.05 --holdout 1e-9 --workers 2 \
    --tune 0 --no-clip --model odd.json --quiet
gives 0 mf evaluate n.json named.csv
cp out wanted
gives 0 mf evaluate odd.json odd.csv
cmp -s out wanted || fail "the model forgot its columns: $(cat out)"
gives 0 mf evaluate n.json odd.csv --user who --item what --rating vote
cmp -s out wanted || fail "other columns: $(cat out)"
gives 0 mf predict odd.json odd.csv
cp out wanted
gives 0 mf predict n.json named.csv
cmp -s out wanted || fail "predictions differ"

# Users folded in from their training ratings get the same lists
gives 0 mf train votes.train --tune 0 --no-clip --method als --unweighted --holdout 1e-9 \
    --sweeps 5 --lambda 20 --model unweighted.json --quiet
for model in m unweighted; do
    gives 0 mf recommend $model.json --top 3 --exclude votes.train --quiet
    cp out own
    gives 0 mf recommend $model.json --top 3 --fold-in votes.train --quiet
    same "$(cut -f 1,2 out)" "$(cut -f 1,2 own)" "$model: lists of folded users"
    near "$(awk '{ s += $3 } END { print s }' out)" \
        "$(awk '{ s += $3 } END { print s }' own)" 1e-3 "their scores"
done
printf 'who,what,vote\nnobody,r3,1\nnobody,r5,-1\nnobody,r999,1\n' >new.csv
gives 0 mf recommend n.json --top 2 --fold-in new.csv
says err "1 ratings are of users or items that the model does not know"
same "$(cut -f 1 out | sort -u)" nobody "a new user"

# Rankings
gives 0 mf evaluate m.json votes.test --train votes.train --top 5 --relevant 1
says out '"train": {"ratings": 60073, "rmse": 0.' '"ranking": {"top": 5' \
    '"relevant": 1' '"ndcg": 0.' '"recall": 0.' '"popularity_ndcg": 0.' \
    '"popularity_recall": 0.'
# One relevant item per user, at its place in the list
gives 0 mf recommend m.json --user 7 --top 3 --exclude votes.train --quiet
printf '7 %s 1\n' "$(sed -n 2p out | cut -f 2)" >one.test
gives 0 mf evaluate m.json one.test --train votes.train --top 3 --quiet
near "$(member out ndcg)" "$(awk 'BEGIN { print log(2) / log(3) }')" 1e-5 \
    "the gain of place 2"
near "$(member out recall)" 1 0 "recall of one"
near "$(member out map)" 0.5 0 "average precision at place 2"
near "$(member out mrr)" 0.5 0 "reciprocal rank of place 2"
near "$(member out coverage)" 0.0075 1e-9 "3 of 400 items"
says out '"auc": 0.' '"exposure": ' '"popularity_auc": 0.' \
    '"popularity_coverage": 0.0075'
gives 0 mf evaluate m.json votes.test --train votes.train --relevant 9
says out '"users": 0' '"ndcg": null'

# Invalid input
refuses 2 "one of --user" mf recommend m.json --user 1 --fold-in votes.train
refuses 2 "anyway" mf recommend m.json --exclude votes.train --fold-in pairs
refuses 2 "no user of the model" mf recommend m.json --user 193
refuses 2 "no user of the model" mf recommend m.json --user -1
refuses 2 "no user called" mf recommend n.json --user c193
printf '1\nx\n' >users
refuses 2 '"x" is no user' mf recommend m.json --users users
refuses 2 "top" mf recommend m.json --top 0
gives 0 mf train votes.train --rank 0 --tune 0 --model biases.json --quiet
refuses 2 "has biases alone" mf similar biases.json
refuses 2 "have names" mf recommend m.json --fold-in new.csv --quiet
refuses 2 "cannot be read" mf recommend nowhere.json
printf '0 0 1\n0 1 nan\n' >nan.txt
refuses 2 "line 2: found 'nan'" mf recommend m.json --fold-in nan.txt --quiet
finish
