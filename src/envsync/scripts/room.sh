# shellcheck shell=sh
# Put before the scripts that need it.

say() { printf '%s\t%s\n' "$1" "$2"; }

say_free() { # where a folder is or will be
    folder=$1
    while [ ! -d "$folder" ] && [ -n "$folder" ]; do
        folder=${folder%/*}
    done
    # GNU's df says both in one go; a file system that counts no inodes has 0 of them.
    # shellcheck disable=SC2046 # one word each
    set -- $(df -k --output=avail,iavail,itotal "${folder:-/}" 2>/dev/null)
    if [ $# -ge 3 ]; then
        shift $(($# - 3))
        say free_kib "$1"
        [ "$3" = 0 ] || say free_inodes "$2"
        return
    fi
    # Names may hold blanks; what is free stands before the percentage.
    free=
    for word in $(df -Pk "${folder:-/}" 2>/dev/null); do
        case $word in
        [0-9]*%) break ;;
        esac
        free=$word
    done
    say free_kib "$free"
}
