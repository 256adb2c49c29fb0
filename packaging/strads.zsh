#compdef strads
# zsh completion of strads: the command itself prints the candidates.
local -a found
found=(${(f)"$(${words[1]} --complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
if (( $#found )); then
    found=("${(@)found//:/\\:}")
    found=("${(@)found/$'\t'/:}")
    _describe strads found
else
    _files
fi
