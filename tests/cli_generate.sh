#!/bin/sh
# Man pages and completion: they have every command and every option of --help,
# and shells and man read them without complaint.
. "$STRADS_SOURCE/tests/cli_harness.shlib"

mkdir man
gives 0 --generate man man
refuses 2 'expected man FOLDER' --generate csh
refuses 1 'nowhere: cannot be written' --generate man nowhere

# Every option of every page of help, by command
all_commands >commands
for program in glm glm-path lasso lasso-path logistic logistic-dual logistic-path \
    sgd-logistic svm svm-l1 lda roles mf net; do
    echo "simulate $program" >>commands
done
[ "$(wc -l <commands)" -ge 45 ] || fail "commands: $(cat commands)"
while read -r command; do
    page=man/strads-$(echo "$command" | tr ' ' -).1
    [ -s "$page" ] || { fail "no page of $command"; continue; }
    says man/strads.1 "$(basename "$page" .1)"
    gives 0 $command --help
    # The same example, which troff's escapes hide.
    sed -n '/^Example:/,$ s/^  //p' out >example
    sed -n '/^\.SH EXAMPLES/,/^\.fi/p' "$page" | sed -e '/^\.[SHnf]/d' \
        -e 's/\\e/\\/g' -e 's/\\-/-/g' >paged
    [ -s example ] && cmp -s example paged || fail "$page has another example"
    sed -n -e '/^Example:/q' -e 's/^  --\([a-z0-9-]*\).*/\1/p' out >options
    sed -n '/^Rarely needed/,/^Example:/p' out | grep -o -e '--[a-z0-9-]*' |
        sed 's/^--//' >>options
    tr -d '\\' <"$page" | grep -o -e '^\.B --[a-z0-9-]*' |
        sed 's/^.B --//' >paged
    gives 0 --complete $command --
    cut -f 1 out | sed 's/^--//' >completed
    sort -u -o options options
    for made in paged completed; do
        sort -u -o $made $made
        missing=$(comm -23 options $made)
        [ -z "$missing" ] || fail "$command: not $made: $missing"
    done
done <commands
# Options of one kind of SVM only, and the choices of an option
says man/strads-svm-train.1 'l1\-ratio'
says man/strads-svm-train.1 '.SH EXIT STATUS' '.B 130' 'priority|uniform'
says man/strads-run.1 'max\-rounds' 'check'

# Completions of a word and their descriptions; none if it is a file
completes() { # WORDS EXPECTED, the words of the line separated by blanks
    # shellcheck disable=SC2086
    gives 0 --complete $1
    same "$(cut -f 1 out | tr '\n' ' ')" "$2" "$1<TAB>"
}
completes 'las' 'lasso '
completes 'lasso tr' 'train '
completes 'simulate lasso' 'lasso lasso-path '
completes 'simulate lasso-path --rati' '--ratio '
completes 'svm train --l1-r' '--l1-ratio '
completes 'lasso train --lambda-' '--lambda-ratio '
completes 'svm train --policy = cy' 'cyclic '
completes 'svm train --policy=cy' '--policy=cyclic '
completes 'lasso predict m --format n' 'npy '
completes 'lasso train fi' ''
gives 0 --complete svm train --policy ''
same "$(wc -l <out)" 3 "policies"
gives 0 --complete lasso train --lambda-
says out 'lambda_max'

# In real shells, as installed
completion=$STRADS_SOURCE/packaging
PATH=$(dirname "$STRADS_BIN"):$PATH
if command -v bash >/dev/null; then
    complete_line() {
        bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
            _strads "$1"; echo "${COMPREPLY[@]}"' \
            "$completion/strads.bash" "$@"
    }
    same "$(complete_line strads lasso tr)" "train" "bash: lasso tr<TAB>"
    same "$(complete_line strads svm train --policy = cy)" "cyclic" \
        "bash: --policy=cy<TAB>"
fi
if command -v fish >/dev/null; then
    for line in "lasso tr:train" "svm train --polic:--policy" \
        "simulate lasso-path --rati:--ratio"; do
        found=$(fish -c "source $completion/strads.fish
            complete -C 'strads ${line%:*}'" | cut -f1 | head -n 1)
        same "$found" "${line#*:}" "fish: ${line%:*}<TAB>"
    done
fi
if command -v zsh >/dev/null; then
    zsh -n "$completion/strads.zsh" || fail "zsh does not read it"
fi
if command -v groff >/dev/null; then # as `man --warnings -l`, in less time
    for page in man/*.1; do
        groff -K utf8 -t -man -Tutf8 -rLL=80n -wmac -Wbreak -z "$page" \
            2>warned ||
            fail "groff $page"
        [ ! -s warned ] || fail "$page: $(cat warned)"
    done
fi

# All files are installed
if [ -f "$STRADS_BUILD/share/man/man1/strads.1" ]; then
    cmp -s "$STRADS_BUILD/share/man/man1/strads-join.1" man/strads-join.1 ||
        fail "the build made another page"
else
    fail "the build made no manual"
fi
finish
