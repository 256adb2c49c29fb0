# bash completion of strads: the command itself prints the candidates.
_strads() {
    local IFS=$'\n'
    COMPREPLY=($("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null |
        cut -f 1))
}
complete -o default -F _strads strads
