# bash completion of strads: the command itself says what may come next.
_strads() {
    local IFS=$'\n'
    COMPREPLY=($("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null |
        cut -f 1))
}
complete -o default -F _strads strads
