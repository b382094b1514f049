# Completion of dumbbell in bash: source <(dumbbell completion bash)
_dumbbell() {
    local current=${COMP_WORDS[COMP_CWORD]} line word
    # What lies behind a sign that bash splits words at is a word of its own, and so is the sign.
    case $current in =|:) current= ;; esac
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :folders)
                compopt -o filenames 2>/dev/null
                while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$current")
                ;;
            :files*)
                compopt -o filenames 2>/dev/null
                while IFS= read -r word; do
                    case " ${line#:files} " in
                        *" ${word##*.} "*|"  ") COMPREPLY+=("$word") ;;
                        *) [[ -d $word ]] && COMPREPLY+=("$word") ;;
                    esac
                done < <(compgen -f -- "$current")
                ;;
            *)
                word=${line%%$'\t'*}
                case $word in *[=.,]) compopt -o nospace 2>/dev/null ;; esac
                COMPREPLY+=("$word")
                ;;
        esac
    done < <("$1" completion bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}
complete -F _dumbbell dumbbell
