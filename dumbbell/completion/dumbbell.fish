# Completion of dumbbell in fish: dumbbell completion fish > ~/.config/fish/completions/dumbbell.fish
function __dumbbell_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] completion fish -- $words[2..] "$current" 2>/dev/null)
        switch $line
            case ':folders'
                __fish_complete_directories "$current" ''
            case ':files'
                __fish_complete_path "$current"
            case ':files *'
                for suffix in (string split ' ' -- $line)[2..]
                    __fish_complete_suffix ".$suffix"
                end
            case '*'
                echo $line
        end
    end
end
complete -c dumbbell -f -a '(__dumbbell_complete)'
