#!/bin/sh
# strads roles from the command line: a planted network, its groups and links;
# models; invalid input.
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

# Six groups of 20; links within a group are more frequent than between groups.
awk 'BEGIN { srand(4); for (u = 0; u < 120; u++) for (v = u + 1; v < 120; v++)
    if (rand() < (int(u / 20) == int(v / 20) ? 0.5 : 0.02))
        print "p" u, "p" v }' >net.txt
awk 'BEGIN { for (u = 0; u < 120; u++) print "p" u "\tg" int(u / 20) }' >groups.txt
gives 0 roles train net.txt --roles 6 --seed 2 --hold-out 0.1 --workers 2 \
    --partitions 2 --model m.json --log run.jsonl
says err "the model is in m.json"
same "$(grep -c '"event": "round"' run.jsonl)" 10 "reports"
gives 0 roles evaluate m.json net.txt --communities groups.txt \
    --threshold 0.25 --format json
for key in nmi auc average_precision common_neighbours_auc; do
    near "$(member out $key)" 1 0.25 "$key"
done
cp out first.json
same "$(member out roles)" 6 "roles"

# The number of roles by held-out links; a number that is far off is said.
gives 0 roles train net.txt --roles auto --seed 2 --model auto.json \
    --log auto.jsonl
says err "chosen: " "the best of "
roles=$(member auto.json topics)
[ "$roles" -ge 5 ] && [ "$roles" -le 10 ] || fail "$roles roles, 6 are planted"
says err "chosen: $roles roles"
grep '"event": "trial"' auto.jsonl | grep '"chosen": true' >best
same "$(member best roles)" "$roles" "roles of the best trial"
gives 0 roles evaluate auto.json net.txt --communities groups.txt \
    --threshold 0.25 --format json
near "$(member out nmi)" 1 0.25 "nmi of the chosen number"
gives 0 roles train net.txt --roles 2 --seed 2 --model two.json --log two.jsonl
says err "4 roles predict held-out links better than 2" "--roles auto chooses"
same "$(grep -c '"event": "trial"' two.jsonl)" 2 "trials of a given number"
grep '"chosen": true' two.jsonl >best
same "$(member best roles)" 2 "the number that the run has"
gives 0 roles train net.txt --roles 2 --seed 2 --model two.json --quiet
same "$(wc -c <err)" 0 "bytes of --quiet"

# Two processes choose the same number. A pipe is read once, so nothing is
# compared.
on_two 0 roles train net.txt --roles auto --seed 2 --partitions 2 \
    --model auto2.json
says first.err "chosen: $roles roles"
mkfifo pipe
cat net.txt >pipe &
gives 0 roles train pipe --roles 2 --seed 2 --model piped.json
cmp -s two.json.npy piped.json.npy || fail "other roles from a pipe"
cat net.txt >pipe &
refuses 2 "pipe: is not a plain file, and --roles auto reads the network twice" \
    roles train pipe --roles auto
printf 'a b\nb c\n' >two-links.txt
refuses 2 "two-links.txt: has too few links to choose --roles by" \
    roles train two-links.txt --roles auto
gives 0 roles train two-links.txt --roles 2

# Held-out links in a separate file, compressed files, figures of the same
# size.
awk 'NR % 10 == 0' net.txt | gzip >held.gz
awk 'NR % 10 != 0' net.txt | zstd -q -o rest.zst
gives 0 roles train rest.zst --roles 6 --seed 2 --model rest.json --quiet
gives 0 roles evaluate rest.json rest.zst --held-out held.gz
near "$(member out auc)" 1 0.25 "the area by a file of links"
gives 0 roles evaluate m.json net.txt --communities groups.txt --format csv
says out "measure,part,value,low,high" "nmi,,"

# Members and shares
gives 0 roles show m.json --top 3 --format csv
same "$(head -n 1 out)" "role,rank,node,share,links" "the header"
same "$(wc -l <out)" 19 "lines of members"
awk -F, 'NR > 1 { g = int(substr($3, 2) / 20); if ($1 in of && of[$1] != g)
    bad = 1; of[$1] = g } END { exit bad }' out || fail "members of two groups"
gives 0 roles show m.json --of nodes --format csv
same "$(wc -l <out)" 121 "lines of nodes"
awk -F, 'NR > 1 { s = 0; for (k = 2; k <= NF; k++) s += $k
    if (s < 0.999999 || s > 1.000001) bad = 1 } END { exit bad }' out ||
    fail "shares do not sum to 1"
printf 'p0 p1\np0 p119\nnobody p1\n' >pairs.txt
gives 0 roles predict m.json pairs.txt
same "$(wc -l <out)" 2 "predictions"
says err "1 links are of nodes that the model does not know"
awk '$2 == "p1" { a = $3 } $2 == "p119" { b = $3 } END { exit !(a > b) }' out ||
    fail "a link between groups is more likely than one within"

# Three processes and a simulation: the same model.
gives 0 roles train net.txt --roles 6 --seed 2 --hold-out 0.1 --partitions 2 \
    --model again.json --workers 1 --quiet
cmp -s m.json.npy again.json.npy || fail "one worker finds other roles"
"$STRADS_BIN" roles train net.txt --roles 6 --seed 2 --hold-out 0.1 \
    --partitions 2 --listen tcp://127.0.0.1:0 --nodes 2 --workers 1 \
    --model spread.json >out 2>err &
child=$!
url=
for _ in $(seq 100); do
    url=$(sed -n 's/.*\(tcp:[^ ,;]*\).*/\1/p' err | head -n 1)
    [ -n "$url" ] && break
    sleep 0.1
done
"$STRADS_BIN" join "$url" --workers 1 --quiet || fail "joining failed"
wait $child || fail "two processes: $(cat err)"
cmp -s m.json.npy spread.json.npy || fail "two processes find other roles"
gives 0 simulate roles net.txt --roles 6 --workers 4 --cost 1ns --latency 50us
gives 0 data info net.txt --kind graph
says out 120

# Invalid input
refuses 2 "nothing to compare the roles with" roles evaluate rest.json net.txt
printf 'a b\nc\n' >bad.txt
refuses 2 "bad.txt: line 2: found 'c', expected a link" \
    roles train bad.txt --quiet
refuses 2 "--hold-out" roles train net.txt --hold-out 1.5
printf 'p0\n' >bad.groups
refuses 2 "bad.groups: line 1: found a node alone" \
    roles evaluate m.json net.txt --communities bad.groups --quiet
printf '2\n40\n2\n1 2 1\n2 2 1\n' >few.txt
gives 0 lda train few.txt --topics 2 --sweeps 2 --model few.json --quiet
refuses 2 "is a model of topics" roles show few.json
finish
