#!/bin/sh
# A run by stochastic gradients reports divergence: exit code 3 if it ends
# above its start, 1 and no model if its numbers are not finite. The message
# names the scale of the columns and the step.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0

# rows SCALE: two columns; the first one has that scale and decides the label.
rows() {
    awk -v scale="$1" 'BEGIN {
        srand(2)
        for (i = 0; i < 300; i++) {
            x = rand(); z = rand()
            y = (x + .3 * rand() > .65) ? 1 : -1
            printf "%d 1:%g 2:%g\n", y, x * scale, z
        }
    }' >t.svm
}

# check START COMMAND..: the objective is below START, or the run reports why
# not.
check() {
    start=$1
    shift
    rm -f m.json
    code=0
    "$STRADS_BIN" "$@" --model m.json 2>err || code=$?
    objective=$(sed -n 's/.*: objective \([^,]*\),.*/\1/p' err)
    case $code in
    0)
        awk -v o="$objective" -v s="$start" 'BEGIN { exit !(o <= s) }' &&
            return
        ;;
    3)
        awk -v o="$objective" -v s="$start" 'BEGIN { exit !(o > s) }' &&
            grep -q 'scale the columns' err && grep -q -- --rate err && return
        ;;
    1) [ ! -e m.json ] && grep -q -- --rate err && return ;;
    esac
    echo "$*: exit $code"
    cat err
    failed=1
}

for scale in 1e-6 1 1e4 1e12 1e300; do
    rows $scale
    for workers in 1 2; do
        for staleness in 0 1; do
            check .69314719 sgd-logistic train t.svm --workers $workers \
                --staleness $staleness
        done
        for staleness in infinite hogwild; do
            check .69314719 sgd-logistic train t.svm --workers $workers \
                --staleness $staleness --step constant --rate .5
        done
        check 1.0000001 sgd-logistic train t.svm --workers $workers --loss hinge
        check .69314719 net train t.svm --workers $workers --epochs 3 \
            --hidden 8
    done
done

exit $failed
