# shellcheck shell=sh
# Put before the scripts that need it.

# Which processes run in an environment, as far as this user may see. One is in it when it has
# one of its files mapped, was started from it, or has it activated. Mapped files show the
# generation even for those that came by the link; whoever did will look for the rest of its
# files behind the link, wherever that points by then.
processes() { # envs dir, environment
    link=$1/$2
    ours=$1/.envsync/$2
    candidates=$(
        {
            grep -lsF -e "$ours/" -e "$link/" /proc/[0-9]*/maps /proc/[0-9]*/cmdline
            grep -lszxF -e "CONDA_PREFIX=$link" /proc/[0-9]*/environ
            grep -lszF -e "CONDA_PREFIX=$ours/" /proc/[0-9]*/environ
        } | cut -d / -f 3 | sort -un
    )
    for pid in $candidates; do
        [ -d "/proc/$pid" ] || continue # the searches above found themselves
        cd "/proc/$pid" || continue
        found=$(grep -ahosF -e "$ours/" maps cmdline environ | head -n 1)
        generation=
        if [ -n "$found" ]; then
            generation=$(cat maps cmdline environ 2>/dev/null | tr '\0' '\n' |
                awk -v ours="$ours/" '
                    (at = index($0, ours)) {
                        rest = substr($0, at + length(ours)); sub(/[\/ ].*/, "", rest)
                        print rest; exit
                    }')
        fi
        came='directly'
        if grep -aqsF -e "$link/" maps cmdline || grep -qszxF -e "CONDA_PREFIX=$link" environ; then
            came='by link'
        elif cat environ 2>/dev/null | tr '\0' '\n' | sed -n 's/^PATH=\(.*\)/:\1:/p' |
            grep -qF -e ":$link/bin:"; then
            came='by link'
        fi
        printf 'process\t%s\t%s\t%s\t%s\t%s\n' "$pid" "$(stat -c %U .)" "${generation:--}" \
            "$came" "$(tr '\0\n\t' '   ' <cmdline)"
    done
}
