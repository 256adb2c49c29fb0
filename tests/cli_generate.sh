#!/bin/sh
# Man pages and completion: every command and every option that --help knows is
# in each of them, and what shells and man read is clean.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

mkdir man
gives 0 --generate man man
for shell in bash zsh fish; do
    gives 0 --generate $shell
    cp out made.$shell
done
refuses 2 'expected man FOLDER, bash, zsh or fish' --generate csh
refuses 1 'nowhere: cannot be written' --generate man nowhere

# Every option of every page of help, by command
all_commands >commands
for program in glm glm-path lasso lasso-path logistic logistic-dual logistic-path \
    sgd-logistic svm svm-l1 lda mf; do
    echo "simulate $program" >>commands
done
[ "$(wc -l <commands)" -ge 45 ] || fail "commands: $(cat commands)"
while read -r command; do
    page=man/strads-$(echo "$command" | tr ' ' -).1
    [ -s "$page" ] || { fail "no page of $command"; continue; }
    says man/strads.1 "$(basename "$page" .1)"
    gives 0 $command --help
    sed -n -e 's/^  --\([a-z0-9-]*\).*/\1/p' out >options
    sed -n '/^Rarely needed/,$p' out | grep -o -e '--[a-z0-9-]*' |
        sed 's/^--//' >>options
    tr -d '\\' <"$page" | grep -o -e '^\.B --[a-z0-9-]*' |
        sed 's/^.B --//' >paged
    sed -n "s/^ *'$command') options='\(.*\)' ;;/\1/p" made.bash |
        tr ' ' '\n' | sed 's/^--//' >bashed
    sed -n "/^    '$command')\$/,/;;/p" made.zsh |
        sed -n "s/^ *'--\([a-z0-9-]*\).*/\1/p" >zshed
    grep -F "__strads_is \"$command\"'" made.fish |
        sed 's/.* -l \([a-z0-9-]*\) .*/\1/' >fished
    sort -u -o options options
    for made in paged bashed zshed fished; do
        sort -u -o $made $made
        missing=$(comm -23 options $made)
        [ -z "$missing" ] || fail "$command: not $made: $missing"
    done
done <commands
# What only one kind of SVM has, and the choices of an option
says man/strads-svm-train.1 'l1\-ratio'
says made.bash "'lasso train --policy') words='priority uniform cyclic'" \
    "l1-ratio"
says man/strads-lasso-train.1 '.SH EXIT STATUS' '.B 130' 'priority|uniform'
says man/strads-run.1 'max\-rounds' 'check'

# A complete word is found, by bash itself
if command -v bash >/dev/null; then
    bash -n made.bash || fail "bash does not read its completion"
    complete_line() {
        bash -c '. ./made.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            _strads; echo "${COMPREPLY[@]}"' bash "$@"
    }
    same "$(complete_line strads las)" "lasso" "las<TAB>"
    same "$(complete_line strads lasso tr)" "train" "lasso tr<TAB>"
    same "$(complete_line strads lasso train --lambda-)" "--lambda-ratio" \
        "--lambda-<TAB>"
    same "$(complete_line strads lasso train --policy = cy)" "cyclic" \
        "--policy=cy<TAB>"
    same "$(complete_line strads lasso predict m --format n)" "npy" \
        "--format n<TAB>"
fi
if command -v fish >/dev/null; then
    for line in "lasso tr:train" "lasso train --polic:--policy" \
        "simulate lasso-path --rati:--ratio"; do
        found=$(fish -c "source made.fish; complete -C 'strads ${line%:*}'" |
            cut -f1 | head -n 1)
        same "$found" "${line#*:}" "fish: ${line%:*}<TAB>"
    done
fi
for shell in zsh fish; do
    ! command -v $shell >/dev/null || $shell -n made.$shell ||
        fail "$shell does not read its completion"
done
if command -v man >/dev/null && command -v groff >/dev/null; then
    for page in man/*.1; do
        MANWIDTH=80 man --warnings -l "$page" >shown 2>warned ||
            fail "man -l $page"
        [ ! -s warned ] || fail "$page: $(cat warned)"
    done
fi

# All of it is installed
if [ -f "$STRADS_BUILD/share/man/man1/strads.1" ]; then
    cmp -s "$STRADS_BUILD/share/man/man1/strads-join.1" man/strads-join.1 ||
        fail "the build made another page"
    cmp -s "$STRADS_BUILD/share/bash-completion/completions/strads" \
        made.bash || fail "the build made another completion"
else
    fail "the build made no manual"
fi
finish
