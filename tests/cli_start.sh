#!/bin/sh
# The labels of a start: they must be the run's, in the order of the start or
# of --classes. A start with other labels is refused in a message that names
# both.
# shellcheck disable=SC2086 # lists of words
. "$STRADS_SOURCE/tests/cli_harness.shlib"
. "$STRADS_SOURCE/tests/cli_children.shlib"

awk 'NR % 2 == 0' "$STRADS_SOURCE/data/sotu-tiny-party.train.svm" >two.svm
awk '{ $1 = $1 > 0 ? "rep" : "dem"; print }' two.svm >two.names
awk 'NR % 3 == 0 { $1 = 7 } { print }' two.svm >three.svm
awk '{ $1 = $1 == 7 ? "whig" : $1 > 0 ? "rep" : "dem"; print }' three.svm \
    >three.names

# close WHAT [LESS]: the run of ./run.jsonl starts, before any step, below LESS
# times the last objective of ./first.jsonl (1.01).
close() {
    tail -n 1 first.jsonl >last
    grep '"event": "round"' run.jsonl |
        grep -v '"objective": null' | head -n 1 >begin
    awk -v a="$(member begin objective)" -v b="$(member last objective)" \
        -v most="${2:-1.01}" 'BEGIN { exit !(a < most * b) }' ||
        fail "$1: begins at $(member begin objective), the start is at $(
            member last objective)"
}

# A start works for any order of --classes, by number and by name: its weights
# change sign or place.
for how in "logistic --lambda-ratio 0.1 --intercept" \
    "logistic --l1-ratio 0 --intercept" "svm --intercept" \
    "svm --l1-ratio 1 --intercept" "glm --loss logistic --lambda 0.01 --intercept" \
    "sgd-logistic --intercept --epochs 20" \
    "logistic --multiclass softmax --lambda-ratio 0.1 --intercept"; do
    program=${how%% *}
    options=${how#* }
    turned="1,-1 rep,dem two"
    case $how in
    *softmax*) turned="7,-1,1 whig,dem,rep three" ;;
    esac
    set -- $turned
    for kind in svm names; do
        order=$1
        [ $kind = svm ] || order=$2
        gives 0 "$program" train "$3.$kind" $options --model first.json \
            --log first.jsonl --quiet
        more=
        [ "$program" != sgd-logistic ] ||
            more="--step constant --rate 1e-9 --epochs 1"
        for classes in "" "--classes $order"; do
            gives 0 "$program" train "$3.$kind" $options $more $classes \
                --start first.json --model run.json --log run.jsonl
            close "$how $kind $classes"
        done
        says run.json "\"classes\": \"$order\""
        [ "$program" = sgd-logistic ] || says err "labels $order"
        # The result also starts a run in the default order, which is the
        # start's if none is given.
        gives 0 "$program" train "$3.$kind" $options $more \
            --start run.json --model again.json --log run.jsonl --quiet
        close "$how $kind, from the other order"
        says again.json "\"classes\": \"$order\""
    done
done

# Each against the rest
gives 0 svm train --no-intercept three.names --model first.json --log first.jsonl --quiet
gives 0 svm train --no-intercept three.names --classes whig,dem,rep --start first.json \
    --model run.json --log run.jsonl --quiet
near "$(member run.json objective)" "$(member first.json objective)" 2e-6 \
    "each against the rest, in another order"

# A path and its cross-validation
gives 0 logistic train --no-intercept two.names --lambda-ratio 0.1 --model first.json --quiet
for command in path cv; do
    gives 0 logistic $command two.names --points 3 --ratio 0.5 --quiet \
        --start first.json --classes rep,dem
    refuses 2 "labels are dem,rep, and the data has rows with the label 1" \
        logistic $command two.svm --points 3 --quiet --start first.json
done

# Other labels in the data or in --classes; more of them, fewer, none
for program in logistic svm sgd-logistic; do
    set -- "$program" train
    gives 0 "$@" two.svm --model numbers.json --quiet
    gives 0 "$@" two.names --model names.json --quiet
    refuses 2 "numbers.json: its labels are -1,1, and the data has rows with \
the label rep; start from a model of the same labels" "$@" two.names --quiet \
        --start numbers.json
    refuses 2 "names.json: its labels are dem,rep, and the data has rows with \
the label 1;" "$@" two.svm --start names.json --quiet
    refuses 2 "its labels are -1,1, and the data has rows with the label 7" \
        "$@" three.svm --start numbers.json --quiet
    refuses 2 "its labels are -1,1, those of --classes are 1,7; a start has \
the same labels, in any order" "$@" two.svm --start numbers.json --quiet \
        --classes 1,7
    refuses 2 "its labels are dem,rep, those of --classes are 0,1" "$@" \
        two.svm --start names.json --classes 0,1 --quiet
done
gives 0 logistic train --no-intercept three.names --model three.json --quiet
refuses 2 "its labels are dem,rep,whig, and no row of the data has the label \
whig" logistic train two.names --start three.json --quiet
gives 0 svm train --no-intercept two.svm --loss epsilon --tolerance 0.1 --model e.json --quiet
refuses 2 "e.json: is a model of numbers, and this run is of classes" svm \
    train two.svm --start e.json --quiet
gives 0 svm train --no-intercept two.svm --model numbers.json --quiet
refuses 2 "is a model of classes, and this run is of numbers" svm train \
    two.svm --loss epsilon --start numbers.json --quiet
[ ! -e bad.json ] || fail "a refused start left a model"

# On two processes: labels that are numbers do not need --classes, because the
# start has them; with other labels the run ends in all processes.
gives 0 logistic train --no-intercept three.svm --multiclass softmax --lambda-ratio 0.1 \
    --tolerance 1e-7 --model first.json --log first.jsonl --quiet
for classes in "" "--classes 7,1,-1"; do
    on_two 0 logistic train --no-intercept three.svm --multiclass softmax \
        --lambda-ratio 0.1 --start first.json --log run.jsonl $classes
    close "two processes $classes"
done
on_two 2 logistic train --no-intercept three.names --start first.json
says first.err "its labels are -1,1,7, and the data has rows with the label"
finish
