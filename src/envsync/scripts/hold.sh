#!/bin/sh
# Takes an environment for one push, so that no other one switches it meanwhile. Answers one
# line: `held`, `shared` and the host of the same push that has it (one file system, then), or
# `taken` and the owner's words.
#
# The owner is a connection: its sshd process, named with its start time, ends when envsync is
# gone, however it ended, and then the next one takes over. Under Slurm each command is a session
# of its own, so the owner is the job, which $ENVSYNC_JOB names.
#
# $1  envs dir   $2  environment   $3  token of the push   $4  host, as the inventory has it
# $5  who pushes   $6  token of an owner who is to lose it, or empty

lock=$1/.envsync/$2/.push
token=$3

# The process that holds this connection: the parent of the session's first shell.
keeper() {
    if [ -n "${ENVSYNC_JOB:-}" ]; then
        printf 'job:%s' "$ENVSYNC_JOB"
        return
    fi
    stat=$(cat /proc/$$/stat 2>/dev/null) || return 0
    # shellcheck disable=SC2086 # fields
    set -- ${stat##*) }
    session=$4
    stat=$(cat "/proc/$session/stat" 2>/dev/null) || return 0
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    born "$2"
}

born() { # pid: the same with its start time, if it runs
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    pid=$1
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    shift 19
    printf '%s:%s' "$pid" "$1"
}

own() {
    keeper=$(keeper)
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$token" "$host" "$(uname -n)" "${keeper:-unknown}" \
        "$(date +%s)" "$who" >"$lock/owner.$token" && mv -f "$lock/owner.$token" "$lock/owner"
}

gone() { # node, keeper
    case $2 in job:*)
        # Nothing printed, and nothing wrong: it is no longer in the queue.
        said=$(squeue --noheader --format=%T --jobs="${2#job:}" 2>&1) && [ -z "$said" ] ||
            [ "$said" != "${said#*Invalid job id}" ]
        return
        ;;
    esac
    [ "$1" = "$(uname -n)" ] && [ "$2" != unknown ] && [ "$(born "${2%%:*}")" != "$2" ]
}

host=$4
who=$5
loser=$6
tab=$(printf '\t')
mkdir -p "${lock%/*}" || exit 1
for second in 0 1 2 3 4 5; do
    if mkdir "$lock" 2>/dev/null; then
        own || exit 1
        echo held
        exit 0
    elif [ ! -d "$lock" ]; then
        mkdir "$lock" || exit 1 # for its message
    fi
    if IFS=$tab read -r theirs their_host node keeper _ 2>/dev/null <"$lock/owner"; then
        if [ "$theirs" = "$token" ]; then
            [ "$their_host" = "$host" ] && echo held || printf 'shared\t%s\n' "$their_host"
            exit 0
        elif ! gone "$node" "$keeper" && [ "$theirs" != "$loser" ]; then
            printf 'taken\t%s\n' "$(cat "$lock/owner")"
            exit 0
        fi
    elif [ "$second" -lt 3 ]; then
        sleep 1 # its owner is just writing its name
        continue
    else
        theirs=nobody
    fi
    # Whoever makes the folder named after the one that is gone is the one heir.
    if mkdir "$lock/after-$theirs" 2>/dev/null; then
        own || exit 1
        echo held
        exit 0
    fi
    sleep 1
done
printf 'taken\t%s\n' "$(cat "$lock/owner" 2>/dev/null)"
