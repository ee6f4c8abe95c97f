# shellcheck shell=bash
# Completion of muster for bash. Verbs, options, their values, dialects, runs, replicas and roles are
# all asked from muster itself, so that there is nothing here to keep in step. doc/_muster is the same
# for zsh.

# What an option's value is called in --help: "FILE", "human|json"; "=ROLE" if it is only taken after a
# "=", nothing for a flag.
_muster_argument()
{
    sed -n "s/^  \(-., \)\{0,1\} *$1\(\[\(=[^]]*\)\| \([^ ]*\)\).*/\3\4/p; s/^  $1, --[a-z-]* \([^ ]*\).*/\1/p" <<<"$help" | head -n 1
}

# Names and ids of runs; -r: of those that have not ended.
_muster_runs()
{
    "$program" list "$@" 2>/dev/null | awk 'NR > 1 { print $1; print $2 }' | sort -u
}

# "role" or "name" (of replicas) of a run.
_muster_of_run()
{
    "$program" show -o json "${@:2}" 2>/dev/null | sed -n "/\"replicas\": \[/,/\]\$/ s/^ *\"$1\": \"\(.*\)\",\$/\1/p" | sort -u
}

# The roles of the job that the command line is about: those of a run, or of a file.
_muster_roles()
{
    local file

    if [[ " $of_runs " == *" $verb "* ]]; then
        _muster_of_run role "${operands[@]:0:1}"
        return
    fi
    for file in "${operands[@]}"; do
        [[ -f $file ]] && "$program" validate "$file" 2>/dev/null | sed -n 's/^.*: accepted, [^,]*, //p' | tr ',' '\n' | awk '{ print $1 }'
    done
}

_muster_value() # OPTION
{
    local name

    name=$(_muster_argument "$1")
    case ${name#=} in
    *'|'*) tr '|' '\n' <<<"$name" ;;
    ROLE) _muster_roles ;;
    ROLE=* | '[ROLE=]'*)
        compopt -o nospace 2>/dev/null
        _muster_roles | sed 's/$/=/'
        ;;
    'ID[:any]') _muster_runs ;; # submit --after
    ID) "$program" schema --list | cut -d ' ' -f 1 ;;
    only) echo only ;; # run --preflight
    KIND) echo mpijob pytorchjob tfjob t9k muster ;; # convert --to
    *) return 1 ;;
    esac
}

# What may stand where no option is begun, by what stands there already.
_muster_operand()
{
    case $verb:${#operands[@]} in
    generate:0) "$program" generate --list | cut -d ' ' -f 1 && echo operator crds ;;
    schema:0) "$program" schema --list | cut -d ' ' -f 1 ;;
    help:0) sed -n 's/^  \([a-z]\{2,\}\)  .*/\1/p' <("$program" --help) ;;
    show:0 | top:0 | report:0 | events:0 | logs:0 | wait:* | attach:0 | rerun:0 | open:0 | delete:*) _muster_runs ;;
    exec:0) # the run may be left out if it is the only one
        _muster_runs -r
        _muster_of_run name
        ;;
    cancel:0 | pause:0 | resume:0) _muster_runs -r ;;
    exec:1 | logs:1) _muster_of_run name "${operands[0]}" ;;
    *) return 1 ;;
    esac
}

_muster()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]} verb=${COMP_WORDS[1]}
    local i help answer operands=() of_runs="show top report events logs wait attach cancel pause resume exec rerun open delete"

    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" --help | sed -n 's/^  \([a-z]\{2,\}\)  .*/\1/p')" -- "$word")
        return
    fi
    # The options of a prototype are its own.
    if [[ $verb == generate ]] && ((COMP_CWORD > 2)); then
        help=$("$program" generate "${COMP_WORDS[2]}" --help 2>/dev/null)
    else
        help=$("$program" "$verb" --help 2>/dev/null)
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --) # after it, it is somebody else's command line
            mapfile -t COMPREPLY < <(compgen -o default -- "$word")
            return
            ;;
        -*) [[ $(_muster_argument "${COMP_WORDS[i]}") != [!=]* || ${COMP_WORDS[i + 1]} == = ]] || ((i++)) ;;
        =) ((i++)) ;;
        *) operands+=("${COMP_WORDS[i]}") ;;
        esac
    done
    # bash makes three words of --name=value
    if [[ $word == = ]]; then
        word= && answer=$(_muster_value "$before")
    elif [[ $before == = ]]; then
        answer=$(_muster_value "${COMP_WORDS[COMP_CWORD - 2]}")
    elif [[ $before == -* && $word != -* && $(_muster_argument "$before") == [!=]* ]]; then
        answer=$(_muster_value "$before")
    elif [[ $word == -* ]]; then
        answer=$(grep -oE '^  .{0,26}' <<<"$help" | grep -oE -- '--[A-Za-z-]+')
    else
        answer=$(_muster_operand)
    fi
    # shellcheck disable=SC2181 # of whichever it was
    if (($? == 0)); then
        mapfile -t COMPREPLY < <(compgen -W "$answer" -- "$word")
    else # of what stands here, muster knows nothing: a file
        mapfile -t COMPREPLY < <(compgen -o default -- "$word")
    fi
}
complete -o filenames -F _muster muster
