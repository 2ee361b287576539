# shellcheck shell=sh
# Put before the scripts that need it.

# Lends this shell, and what it starts, a way to channels and indexes, for as long as it lives.
# What the node has set for itself goes before it, unless it is told to override that.
lend() { # folder for files, certificates, root prefix, netrc, proxy, hosts without it, override, index
    lent=$1
    lend_netrc "$4" || return 1
    if [ -n "$8" ] && ! keeps 'the index of pip' '' "$7" '' index-url "${PIP_INDEX_URL:-}"; then
        export PIP_INDEX_URL="$8"
    fi
    if [ -n "$5" ] && ! keeps proxy "$3" "$7" proxy_servers proxy "${HTTPS_PROXY:-}" \
        "${https_proxy:-}" "${HTTP_PROXY:-}" "${http_proxy:-}" "${ALL_PROXY:-}" \
        "${all_proxy:-}" "${PIP_PROXY:-}"; then
        unset ALL_PROXY all_proxy PIP_PROXY
        # pip's file goes before all variables but its own, and conda's before them all.
        ! pip_sets proxy || export PIP_PROXY="$5"
        ! conda_sets "$3" proxy_servers ||
            echo "conda goes by proxy_servers in $where all the same: take it out there" >&2
        # curl reads the small names alone.
        export HTTPS_PROXY="$5" https_proxy="$5" HTTP_PROXY="$5" http_proxy="$5"
        export NO_PROXY="$6" no_proxy="$6"
    fi
    if [ -f "$2" ] && ! keeps certificates '' "$7" '' '' "${REQUESTS_CA_BUNDLE:-}" \
        "${CURL_CA_BUNDLE:-}" "${SSL_CERT_FILE:-}"; then
        lend_certificates "$2" || return 1
        keeps 'certificates of conda' "$3" "$7" ssl_verify '' "${CONDA_SSL_VERIFY:-}" ||
            export CONDA_SSL_VERIFY="$bundle"
        keeps 'certificates of pip' '' "$7" '' cert "${PIP_CERT:-}" || export PIP_CERT="$bundle"
    fi
}

# conda and pip read it through requests, mamba and micromamba through curl; all of them by the
# name of the host. Of two entries for a host curl takes the first and Python the last, so ours
# stand on both sides of what the node's user has.
lend_netrc() { # text
    [ -n "$1" ] || return 0
    own=${NETRC:-$HOME/.netrc}
    (
        umask 077
        {
            printf '%s' "$1"
            [ ! -f "$own" ] || cat "$own"
            printf '\n\n%s' "$1"
        } >"$lent/netrc"
    ) || return 1
    # Linux shows an open file under /proc to its owner, also when it has no name any more: then
    # nothing is left of it however this ends.
    exec 9<"$lent/netrc"
    read -r self _ 2>/dev/null </proc/self/stat || self=
    if [ -n "$self" ] && [ -r "/proc/$self/fd/9" ] && rm -f "$lent/netrc" &&
        [ -r "/proc/$self/fd/9" ]; then
        export NETRC="/proc/$self/fd/9"
    else
        exec 9<&-
        export NETRC="$lent/netrc"
    fi
}

# Besides those of the system: a mirror may have the one kind, and what is not mirrored the other.
lend_certificates() { # file
    bundle=$lent/certificates.pem
    cat "$1" >"$bundle" || return 1
    for system in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt \
        /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
        if [ -f "$system" ]; then
            echo >>"$bundle"
            cat "$system" >>"$bundle"
            break
        fi
    done
    export REQUESTS_CA_BUNDLE="$bundle" CURL_CA_BUNDLE="$bundle" SSL_CERT_FILE="$bundle"
    export GIT_SSL_CAINFO="$bundle"
}

# Whether the node has a setting of its own, in its variables or in files of conda or pip.
keeps() { # what, root prefix, override, conda's key, pip's key, values of variables...
    [ -z "$3" ] || return 1
    what=$1
    where=
    [ -z "$4" ] || conda_sets "$2" "$4" || :
    [ -z "$5" ] || pip_sets "$5" || :
    shift 5
    for value in "$@"; do
        [ -z "$value" ] || where=variables
    done
    [ -n "$where" ] || return 1
    echo "this node keeps its own settings for $what ($where)" >&2
}

# Both name the last file that has the key, in `where`.
conda_sets() { # root prefix, key
    set_in "^$2 *:" "${CONDARC:-}" /etc/conda/.condarc /etc/conda/condarc "$1/.condarc" \
        "$HOME/.condarc" "$HOME/.conda/.condarc" "$HOME/.config/conda/.condarc" "$HOME/.mambarc"
}

pip_sets() { # key
    set_in "^ *$1 *=" "${PIP_CONFIG_FILE:-}" /etc/pip.conf /etc/xdg/pip/pip.conf \
        "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"
}

set_in() { # pattern, files...
    pattern=$1
    shift
    found=
    for file in "$@"; do
        [ ! -f "$file" ] || ! grep -q "$pattern" "$file" || found=$file
    done
    [ -n "$found" ] && where=$found
}
