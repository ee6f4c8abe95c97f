# shellcheck shell=bash
# Completion of muster for bash. Verbs and options are asked from muster itself, so that there is
# nothing here to keep in step.

_muster()
{
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} i

    COMPREPLY=()
    for ((i = 2; i < COMP_CWORD; i++)); do # after -- it is somebody else's command line
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            mapfile -t COMPREPLY < <(compgen -o default -- "$word")
            return
        fi
    done
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" --help | sed -n 's/^  \([a-z]\{2,\}\)  .*/\1/p')" -- "$word")
    elif [[ $verb == generate ]] && ((COMP_CWORD == 2)) && [[ $word != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" generate --list | cut -d ' ' -f 1)" -- "$word")
    elif [[ $verb == schema && $word != -* ]] || [[ ${COMP_WORDS[COMP_CWORD - 1]} == --dialect ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" schema --list | cut -d ' ' -f 1)" -- "$word")
    elif ((COMP_CWORD == 2)) && [[ $word != -* && " show events logs wait " == *" $verb "* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" list -q)" -- "$word")
    elif ((COMP_CWORD == 2)) && [[ $word != -* && " cancel pause resume exec " == *" $verb "* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" list -qr)" -- "$word")
    elif [[ $verb == convert && ${COMP_WORDS[COMP_CWORD - 1]} == --to ]]; then
        mapfile -t COMPREPLY < <(compgen -W "mpijob pytorchjob tfjob t9k muster" -- "$word")
    elif [[ $word == -* ]]; then
        local words=("$verb") # the options of a prototype are its own
        [[ $verb != generate ]] || ((COMP_CWORD == 2)) || words+=("${COMP_WORDS[2]}")
        mapfile -t COMPREPLY < <(compgen -W "$("$program" "${words[@]}" --help | grep -oE '^  .{0,26}' | grep -oE -- '--[A-Za-z-]+')" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -o default -- "$word")
    fi
}
complete -o filenames -F _muster muster
