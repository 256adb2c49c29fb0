#!/bin/sh
# The command line: help, names, values, configuration files.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

# Help and version
gives 0 --version
same "$(cat out | cut -d' ' -f1)" strads "the version's first word"
gives 0 help
says out "strads lasso ... " " train predict " "strads join URL" "Exit codes" " 130 "
gives 0 --help
gives 2
says err "Usage: strads COMMAND"
for command in "lasso train" "lasso predict" run join "data info" \
    "data synth lasso"; do
    gives 0 $command --help
    says out "Usage: strads $command"
    cp out asked
    gives 0 help $command
    cmp -s out asked || fail "help $command differs from $command --help"
done
# Every page has at most 56 lines of 80 characters. Rarely needed options are
# listed at its end, with their defaults; docs/command.md describes them.
all_commands >commands
[ "$(wc -l <commands)" -ge 35 ] || fail "commands: $(cat commands)"
for page in "" lasso data lda plan mf "data synth" "svm train --l1-ratio 1"; do
    echo "$page" >>commands
done
for program in glm glm-path lasso lasso-path logistic logistic-dual logistic-path \
    sgd-logistic svm svm-l1 lda roles mf net; do
    echo "simulate $program" >>commands
done
while read -r page; do
    gives 0 $page --help
    [ "$(awk 'length > 80' out | wc -l)" -eq 0 ] ||
        fail "$page --help has lines beyond 80 letters"
    [ "$(wc -l <out)" -le 56 ] ||
        fail "$page --help is longer than a page"
    sed -n '/^Rarely needed/,/^Example:/p' out | grep -o -e '--[a-z0-9-]*=' -e \
        '--[a-z0-9-]* (no)' | sed 's/[= ].*//' >>rare
    grep -o -e '--[a-z0-9][a-z0-9-]*' out >>told || : # a list of commands
done <commands
sort -u rare -o rare
[ "$(wc -l <rare)" -ge 18 ] || fail "rarely needed: $(cat rare)"
while read -r option; do
    grep -qF -e "\`$option" "$STRADS_SOURCE/docs/command.md" ||
        fail "docs/command.md does not tell of $option"
done <rare
# Pages describe every option, and no option that does not exist.
sort -u told -o told
while read -r option; do
    grep -qE -e "$option([^a-z0-9-]|\$)" "$STRADS_SOURCE"/docs/*.md ||
        fail "no page in docs/ tells of $option"
done <told
grep -oh -e '`--[a-z0-9][a-z0-9-]*' "$STRADS_SOURCE"/docs/*.md |
    tr -d '`' | grep -vx -e --name -e --json -e --csv \
    -e --intercept -e --no-quiet | sort -u | comm -23 - told >gone
[ ! -s gone ] || fail "pages tell of what no command has: $(cat gone)"
gives 0 svm train --help
says out "--depth=D (0)" "--blocks=N (1)" "--policy=NAME"
# .. and lasso, glm and logistic by rows choose their blocks themselves.
for program in lasso glm; do
    gives 0 $program train --help
    ! grep -qE -e '--(policy|depth|blocks|schedulers|threshold)' out ||
        fail "$program train has no policy: $(cat out)"
    for option in "policy cyclic" "depth 2" "blocks 4" "schedulers 2" \
        "threshold 0.5"; do
        refuses 2 "--${option% *}: program $program has no use for it" \
            $program train x --$option
    done
done
echo '{"blocks": 4}' >blocks.json
refuses 2 "--blocks: program lasso has no use for it" \
    lasso train x --config blocks.json
# Earlier versions printed the default policy for every program.
echo '{"policy": "priority", "lambda-ratio": 0.3}' >earlier.json
gives 0 lasso train "$STRADS_SOURCE/data/sotu-tiny-year.train.svm" \
    --config earlier.json --quiet
echo '{"policy": "cyclic"}' >earlier.json
refuses 2 "earlier.json: --policy: program lasso has no use for it" \
    lasso train x --config earlier.json
# Options that a command refuses are not in its help.
gives 0 lasso cv --help
! grep -q -e --listen -e --nodes -e --reconnect out ||
    fail "lasso cv is for one process: $(cat out)"
refuses 2 '--f32: program mf has no use for it' simulate mf x --f32
# A loop has its own options, and none of those of rounds.
gives 0 sgd-logistic train --help
says out --hold-below --push-bytes --window --cache-bytes \
    --staleness --staleness-max --shards
refuses 2 'unknown option --policy' sgd-logistic train x --policy cyclic
refuses 2 'unknown option --window' lasso train x --window 2
refuses 2 '--window 65: expected 1 to 64' sgd-logistic train x --window 65
refuses 2 '--hold-below -1: expected' sgd-logistic train x --hold-below -1
refuses 2 '--push-bytes 0: expected' sgd-logistic train x --push-bytes 0
gives 0 lasso train --help
for option in lambda lambda-ratio l1-ratio no-intercept standardize positive \
    weights workers partitions tolerance \
    max-rounds time-limit seed deterministic config print-config model log \
    start listen nodes trace labels f32 quiet; do
    says out "--$option"
done

# An incomplete command lists its completions.
gives 0 lasso --help
says out "strads lasso train DATA" "strads lasso show MODEL"
cp out asked
gives 0 help lasso
cmp -s out asked || fail "help lasso differs from lasso --help"
gives 0 data synth --help
says out "strads data synth lasso OUT"
gives 0 help data synth
says out "strads data synth lasso OUT"
refuses 2 '"data synth" is half a command' data synth

# Wrong commands and names
refuses 2 'did you mean "strads lasso train"?' lasso trian x
refuses 2 'expected strads lasso train or strads lasso predict' lasso
refuses 2 'unknown command "zzz"' zzz
refuses 2 'unknown option --lamda; did you mean --lambda?' \
    lasso train x --lamda 1
refuses 2 'unknown option --lambd; did you mean --lambda?' \
    lasso train x --lambd=1
refuses 2 'unknown option --max_round; did you mean --max-rounds?' \
    lasso train x --max_round 1
refuses 2 'unknown option --qqqq' lasso train x --qqqq
refuses 2 'unknown option -w' lasso train x -w 1
refuses 2 '--seed needs a value' lasso train x --seed
refuses 2 'an argument is missing' lasso train
refuses 2 '"y" is one argument too many' lasso train x y
refuses 2 'the last argument is missing' lasso predict x

# Values
refuses 2 '--workers 0: expected 1 to 1024' lasso train x --workers 0
refuses 2 '--workers 1.5: expected 1 to 1024' lasso train x --workers=1.5
refuses 2 '--lambda -1: expected' lasso train x --lambda -1
refuses 2 '--lambda nan: expected' lasso train x --lambda nan
refuses 2 '--lambda inf: expected' lasso train x --lambda inf
refuses 2 '--lambda 1e400: expected' lasso train x --lambda 1e400
refuses 2 '--tolerance 0: expected' lasso train x --tolerance 0
refuses 2 '--depth 17: expected 0 to 16' svm train x --depth 17
refuses 2 '--policy best: expected priority, uniform or cyclic' \
    svm train x --policy best
refuses 2 '--seed -1: expected' lasso train x --seed -1
refuses 2 '--seed 9007199254740992: expected' \
    lasso train x --seed 9007199254740992
refuses 2 '--intercept=maybe: expected true or false' \
    lasso train x --intercept=maybe
refuses 2 '--model is empty' lasso train x --model ''
refuses 2 '--nodes 2 needs --listen' lasso train x --nodes 2
refuses 2 '--listen needs --nodes' lasso train x --listen ipc:///tmp/x

# Configuration files: read, overridden by the command line, written in the
# same form
cat >c.json <<'END'
{"c": 0.25, "workers": 3, "intercept": true, "policy": "cyclic",
 "seed": 11, "model": "m.json", "max-rounds": null, "time-limit": 2.5}
END
gives 0 svm train --config c.json --print-config --seed 12 --depth 2
says out '"c": 0.25' '"workers": 3' '"intercept": true' \
    '"policy": "cyclic"' '"seed": 12' '"model": "m.json"' '"depth": 2' \
    '"max-rounds": null' '"time-limit": 2.5'
cp out all.json
gives 0 svm train --config all.json --print-config
cmp -s out all.json || fail "a printed configuration reads back changed"
gives 0 svm train --config c.json --intercept=false --print-config
says out '"intercept": false'

# An intercept is fitted unless disabled. A line reports this new default if no
# option sets it. A penalised bias replaces it.
notice='fits an intercept, the default as of this version'
for words in "lasso train" "lasso path --points 2" "glm train --lambda 0.1" \
    "glm path --points 2" "sgd-logistic train --epochs 1" "logistic train" \
    "logistic train --l1-ratio 0" "logistic path --points 2" "svm train" \
    "svm train --l1-ratio 1" "simulate lasso --workers 1" \
    "lasso cv --points 2 --folds 2" "logistic cv --points 2 --folds 2"; do
    # shellcheck disable=SC2086 # words
    gives 0 $words "$party" --tolerance 0.1
    says err "$notice"
    # shellcheck disable=SC2086 # words
    gives 0 $words --print-config
    says out '"intercept": true'
    # shellcheck disable=SC2086 # words
    gives 0 $words --help
    says out '--no-intercept'
    for given in --no-intercept --intercept --quiet; do
        # shellcheck disable=SC2086 # words
        gives 0 $words "$party" --tolerance 0.1 $given
        ! grep -q "$notice" err || fail "$words $given: $(cat err)"
    done
done
echo '{"intercept": true}' >with.json
gives 0 lasso train "$party" --tolerance 0.1 --config with.json
! grep -q "$notice" err || fail "a file that asks for an intercept: $(cat err)"
echo '{"intercept": null}' >null.json
gives 0 svm train --config null.json --print-config
says out '"intercept": true'
echo '{"intercept": false}' >without.json
gives 0 svm train --config without.json --print-config
says out '"intercept": false'
gives 0 svm train --config without.json --intercept --print-config
says out '"intercept": true'
gives 0 lasso train --intercept --no-intercept --print-config
says out '"intercept": false'
gives 0 svm train --bias 1 --print-config
says out '"intercept": false'
gives 0 svm train "$party" --bias 1
! grep -q "$notice" err || fail "--bias 1: $(cat err)"
refuses 2 'give one of them' svm train "$party" --bias 1 --intercept
for by in --no-intercept --intercept=false; do
    gives 0 lasso train "$party" $by --model $(echo $by | tr -d =-).json
done
same_bits "two ways to fit no intercept" nointercept.json interceptfalse.json
same "$(member nointercept.json intercept)" 0 "the intercept of --no-intercept"
gives 0 lasso train "$party" --model by-default.json
gives 0 lasso train "$party" --intercept --model by-flag.json
same_bits "an intercept by default" by-default.json by-flag.json
[ "$(member by-default.json intercept)" != 0 ] || fail "there is no intercept"
# Every flag can be undone by its name; other options cannot.
gives 0 lasso train --quiet --no-quiet --print-config
says out '"quiet": false'
refuses 2 'unknown option --no-seed' lasso train x --no-seed
refuses 2 'unknown option --no-quiet' lasso train x --no-quiet=true

wrong_config() {
    text=$1
    printf '%s' "$2" >w.json
    refuses 2 "$text" lasso train x --config w.json
    says err 'w.json'
}
wrong_config 'unknown key "lamda"; did you mean "lambda"?' '{"lamda": 1}'
wrong_config 'unknown key "zzzzz"' '{"zzzzz": 1}'
wrong_config 'unknown key "config"' '{"config": "c.json"}'
wrong_config '--workers 0: expected 1 to 1024' '{"workers": 0}'
wrong_config '"workers" is a string, expected a whole number' \
    '{"workers": "2"}'
wrong_config '"lambda" is a string, expected a number' '{"lambda": "nan"}'
wrong_config 'line 2 is not JSON' '{
"lambda": NaN}'
wrong_config 'is not JSON' '{"seed": 1, "seed": 2}'
wrong_config 'is not JSON' ''
wrong_config 'expected one JSON object' '[1]'
refuses 2 'none.json: cannot be read' lasso train x --config none.json

# Seconds are the only unit
refuses 2 "--time-limit 30ms: expected" lasso train "$year_train" \
    --time-limit 30ms

# All of these commands wrote no file
[ ! -e m.json ] || fail "--print-config wrote a model"

finish
