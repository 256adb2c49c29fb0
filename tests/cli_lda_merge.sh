#!/bin/sh
# strads lda merge: two copies of a planted topic become one, others stay.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# Words 1-20, 21-40 and 41-60 are a topic each; with few documents of one topic,
# alphas of 4 topics split one of them in two halves that have the same words.
awk 'BEGIN { srand(3); print 90; print 60; print 90 * 20
    for (d = 1; d <= 90; d++)
        for (w = 1; w <= 20; w++)
            print d, (d % 3) * 20 + w, 3 + int(rand() * 3) }' >docs.txt
gives 0 lda train docs.txt --topics 3 --sweeps 60 --seed 2 --alpha .1 \
    --beta .01 --samples 1 --model three.json
cp three.json four.json
python3 - <<'END' || fail "no model of four topics"
import json, struct
model = json.load(open("three.json"))
head = open("three.json.npy", "rb").read()
rows = [list(r) for r in struct.iter_unpack("<3I", head[128:])]
out, total = [], [0] * 4
for w, k, n in rows:  # topic 3 takes half of topic 1
    parts = [(k, n)] if k != 1 or n < 2 else [(1, n - n // 2), (3, n // 2)]
    out += [(w, k, n) for k, n in parts]
out.sort()
for w, k, n in out:
    total[k] += n
model["topics"], model["topic-tokens"] = 4, total
model["alpha"] = model["alpha"] + [.3]
json.dump(model, open("four.json", "w"))
shape = b"{'descr': '<u4', 'fortran_order': False, 'shape': (%d, 3), }" % len(out)
with open("four.json.npy", "wb") as file:
    file.write(head[:10] + shape.ljust(117) + b"\n")
    file.write(b"".join(struct.pack("<3I", *r) for r in out))
END
gives 0 lda merge four.json --model merged.json
same "$(cat out)" "topic 1 joins 1 3" "the joined topics"
says err "4 topics became 3; the model is in merged.json"
cmp -s merged.json.npy three.json.npy || fail "counts are not those of before"
says merged.json '"topics": 3' '"sweeps"'
gives 0 lda topics merged.json
gives 0 lda infer merged.json docs.txt
gives 0 lda train docs.txt --from merged.json --sweeps 2 --model more.json
gives 0 lda merge merged.json --model again.json
same "$(cat out)" "" "the joined topics"
says err "3 topics became 3"

refuses 2 "expected --model OUT" lda merge four.json
refuses 2 "cosine" lda merge four.json --model x.json --cosine 0
refuses 2 "cosine" lda merge four.json --model x.json --cosine 1.5
refuses 2 "no-such.json" lda merge no-such.json --model x.json
[ ! -e x.json ] || fail "a refused merge has left a file"
finish
