# shellcheck shell=sh
# Put before the scripts that need it.

# Which packages a prefix holds, as one number, without starting anything: the names of
# conda's records, of what Python calls installed, and of programs. Compiled files do not count.
# Call it in a subshell: it changes the directory.
fingerprint() { # prefix
    export LC_ALL=C
    cd "$1" || return 1
    site='lib/python*/site-packages'
    # shellcheck disable=SC2086 # site is a pattern
    printf '%s\n' conda-meta/*.json $site/*.dist-info $site/*.egg-info $site/*.egg-link \
        $site/*.pth bin/* | cksum
}
