#compdef dumbbell
# Completion of dumbbell in zsh: source <(dumbbell completion zsh), or this as a file _dumbbell in a folder of $fpath
_dumbbell() {
    local line word
    local -a whole begun suffixes
    local -i failed=1
    for line in "${(@f)$("${(Q)words[1]}" completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
            '') ;;
            :folders) _files -/ && failed=0 ;;
            :files)   _files && failed=0 ;;
            :files*)  suffixes=(${=line#:files}); _files -g "*.(${(j:|:)suffixes})" && failed=0 ;;
            *)
                word=${line%%$'\t'*}
                case $word in
                    *[=.]) begun+=("${word//:/\\:}:${line#*$'\t'}") ;;
                    *)     whole+=("${word//:/\\:}:${line#*$'\t'}") ;;
                esac ;;
        esac
    done
    (( $#whole )) && _describe -t values value whole && failed=0
    (( $#begun )) && _describe -t keys key begun -S '' && failed=0
    return failed
}
if [[ $funcstack[1] == _dumbbell ]]; then
    _dumbbell "$@"
else
    compdef _dumbbell dumbbell
fi
