#!/bin/sh
# --memory bounds the whole run: whatever the program and the size of its data, a
# run either stays within the budget, by the kernel's figure, or is refused by one
# sentence.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# Sanitizers have memory of their own.
[ -z "${STRADS_SANITIZE:-}" ] || exit 77
peak=$STRADS_BUILD/tests/peak

# samples ROWS COLUMNS ENTRIES: LIBSVM text with labels -1 and 1.
samples() {
    awk -v n="$1" -v p="$2" -v k="$3" 'BEGIN {
        srand(1)
        for (i = 0; i < n; i++) {
            line = ""; sum = 0
            step = int(p / k)
            for (e = 0; e < k; e++) {
                v = rand() - .5
                sum += v
                line = line sprintf(" %d:%.3f", e * step + 1 + int(rand() * step), v)
            }
            print (sum + rand() - .5 > 0 ? 1 : -1) line
        }
    }'
}

# corpus DOCUMENTS WORDS TOKENS: a bag of words.
corpus() {
    awk -v d="$1" -v w="$2" -v t="$3" 'BEGIN {
        srand(2)
        print d; print w; print d * t
        for (i = 1; i <= d; i++) {
            at = 0
            for (k = 1; k <= t; k++) {
                at += 1 + int(rand() * (w / t - 1))
                print i, at, 1 + int(2 * rand())
            }
        }
    }'
}

# ratings USERS ITEMS EACH
ratings() {
    awk -v u="$1" -v m="$2" -v k="$3" 'BEGIN {
        srand(3)
        for (i = 0; i < u; i++)
            for (e = 0; e < k; e++)
                print i, int(e * m / k + rand() * m / k), int(5 * rand())
    }'
}

samples 8000 4000 40 >narrow.svm
samples 4000 200000 100 >wide.svm
corpus 1000 4000 200 >small.txt
corpus 4000 12000 300 >large.txt
ratings 3000 1500 60 >few.ratings
ratings 40000 8000 20 >many.ratings

# within "BUDGETS" WORDS...: refused within the first budget of MB, done within
# the last.
within() {
    budgets=$1 ended=
    shift
    for budget in $budgets; do
        code=0
        "$peak" kilobytes "$STRADS_BIN" "$@" --memory "${budget}M" --quiet \
            --model model >out 2>err </dev/null || code=$?
        read -r used <kilobytes
        [ "$used" -le $((budget * 1024)) ] ||
            fail "strads $* --memory ${budget}M: took $used KB"
        case $code in
        0 | 3) ended=done ;;
        1)
            [ "$ended" != "done" ] || fail "strads $*: refused at ${budget}M only"
            ended=refused
            grep -q -e '--memory' err && [ "$(wc -l <err)" -eq 1 ] ||
                fail "strads $* --memory ${budget}M: $(head -c 300 err)"
            ;;
        *) fail "strads $* --memory ${budget}M: exit code $code" ;;
        esac
        [ "$budget" != "${budgets%% *}" ] || [ "$ended" = refused ] ||
            fail "strads $*: fits $budget MB"
    done
    [ "$ended" = "done" ] || fail "strads $*: $(head -c 300 err)"
}

within "18 28 44" lda train small.txt --topics 10000 --sweeps 1
within "60 100 140" lda train large.txt --topics 10000 --sweeps 1
within "30 60" lda train large.txt --topics 50 --sweeps 1
within "18 26" mf train few.ratings --tune 0 --rank 16 --sweeps 2
within "30 50 80" mf train many.ratings --tune 0 --rank 32 --sweeps 2
within "30 60 100" mf train many.ratings --tune 0 --rank 32 --sweeps 1 --method als
within "25 60" net train narrow.svm --epochs 1 --hidden 32
within "100 320" net train wide.svm --epochs 1 --hidden 16
for data in narrow wide; do
    case $data in
    narrow) budgets="17 22 28 36 60" ;;
    wide) budgets="30 50 65 80 140" ;;
    esac
    within "$budgets" lasso train $data.svm --max-rounds 60
    within "$budgets" glm train $data.svm --loss huber --max-rounds 60
    within "$budgets" logistic train $data.svm --max-rounds 60
    within "$budgets" logistic train $data.svm --l1-ratio 0 --max-rounds 60
    within "$budgets" svm train $data.svm --max-rounds 60
    within "$budgets" svm train $data.svm --loss hinge --max-rounds 60
    within "$budgets" sgd-logistic train $data.svm --epochs 1
done

# Less than the process itself takes.
refuses 1 'a run takes' lasso train narrow.svm --memory 2M --quiet
says err '--memory'
finish
