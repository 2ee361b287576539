# shellcheck shell=sh
# Put before the scripts that need it.

# Which packages a prefix holds, as one number, without starting anything: the names of
# conda's records, of what Python calls installed, and of programs. Compiled files do not count.
fingerprint() { # prefix
    (
        LC_ALL=C
        export LC_ALL
        cd "$1" || exit 1
        site='lib/python*/site-packages'
        # shellcheck disable=SC2086 # site is a pattern
        printf '%s\n' conda-meta/*.json $site/*.dist-info $site/*.egg-info $site/*.egg-link \
            $site/*.pth bin/* | cksum
    )
}
