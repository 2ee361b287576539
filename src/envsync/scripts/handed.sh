#!/bin/sh
# Runs a script whose standard input is what another host prints. This host's own ssh leads there,
# with what its user may log in with; no question is asked, and no other host key is taken.
#
# $1  the script   $2  the line after which what is printed there begins
# $3  the words for the login shell there   $4  what it reads   $5  the host key there
# $6...  ways there: user, address and port (empty: what ssh here has for the address)
#
# Ends with 69 when no way leads there; ssh says why.

script=$1 mark=$2 words=$3 read_there=$4 key=$5
shift 5

if ! command -v ssh >/dev/null; then
    echo "there is no ssh on this host" >&2
    exit 69
fi
known=$(umask 077 && mktemp "${TMPDIR:-/tmp}/envsync.XXXXXXXX") || exit 1
# The signal that ends us comes to our children, too, and more than once: not to rm. And when
# nobody listens any more, the shell's own words about them would end it (PIPE).
trap 'trap "" HUP INT PIPE TERM; rm -f "$known"' EXIT
trap 'trap "" HUP INT PIPE TERM; exit 143' HUP INT PIPE TERM
# An alias of our own: whatever the host is called here, this is its key.
printf 'envsync-peer %s\n' "$key" >"$known" || exit 1

ask() { # user, address, port
    printf %s "$read_there" | ssh -T -x -a \
        -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 \
        -o StrictHostKeyChecking=yes -o HostKeyAlias=envsync-peer -o CheckHostIP=no \
        -o UserKnownHostsFile="\"$known\"" -o GlobalKnownHostsFile=/dev/null \
        -o VerifyHostKeyDNS=no -o ControlMaster=no -o ControlPath=none \
        -o ClearAllForwardings=yes -o PermitLocalCommand=no -o LogLevel=ERROR \
        -o Compression=no ${3:+-o "Port=$3"} -l "$1" -- "$2" "$words"
}

begun() {
    while IFS= read -r line; do
        [ "$line" = "$mark" ] && return
    done
    return 1
}

while [ $# -ge 3 ]; do
    ask "$1" "$2" "$3" | {
        begun || exit 69
        eval "$script"
    }
    code=$?
    [ "$code" -eq 69 ] || exit "$code"
    shift 3
done
exit 69
