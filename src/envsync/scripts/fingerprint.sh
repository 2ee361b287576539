# shellcheck shell=sh
# Put before the scripts that need it.

# Which packages a prefix holds, as one number, without starting anything: the names of
# conda's records and of what Python calls installed. Compiled files do not count.
fingerprint() { # prefix
    (
        cd "$1" || exit 1
        LC_ALL=C ls conda-meta lib/python*/site-packages 2>/dev/null |
            grep -E '\.(json|dist-info|egg-info|egg-link|pth)$' | cksum
    )
}
