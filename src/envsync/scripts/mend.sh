# shellcheck shell=sh
# Put before the scripts that need it.

# What a conda that was killed leaves in the package cache fails every later install there, or
# spoils it with no more than a warning. Each of these takes away what conda's words blame on it,
# says so on standard error, and is true if that was anything: then another try may go well.

# conda before 25.1 adds what it gets for an explicit list to what a download that was cut off
# has left (github.com/conda/conda/issues/13488), and is at odds with the checksum each time.
drop_parts() { # what conda said, the explicit list
    [ -e "$2" ] && grep -q '^ChecksumMismatchError' "$1" || return 1
    parts=$(
        sed -n 's|^ *download saved to: \(/.*\)/[^/]*$|\1|p' "$1" | sort -u |
            while IFS= read -r cache; do
                sed -n -e 's/#.*//' -e 's|.*/||p' "$2" |
                    while IFS= read -r name; do
                        printf '%s\n' "$cache/$name.partial"
                    done
            done
    )
    drop "fetching anew what was cut off" "$parts"
}

# conda takes a package with an info/index.json for unpacked, however little else of it is there.
drop_halves() { # what conda said
    halves=$(
        sed -n -E 's!^(CondaVerificationError|SafetyError): .* located at (/.*)$!\2!p' "$1"
        sed -n '/^ *package cache : /,/^ *envs directories : /s|^[^/]*\(/.*\)$|\1|p' "$1" |
            while IFS= read -r cache; do
                halves_in "$cache"
            done
    )
    drop "unpacking anew what is not whole" "$(printf '%s\n' "$halves" | sort -u)"
}

# Where its info is cut off, conda ends with a report that names only its caches. Missing, or a
# brace that is not closed, is cut off: every package has these, in JSON.
halves_in() { # package cache
    for index in "$1"/*/info/index.json; do
        info=${index%/*}
        for part in "$index" "$info/paths.json" "$info/link.json"; do
            [ -e "$part" ] || case $part in *link.json) continue ;; esac
            awk '
                { opened += gsub(/{/, ""); closed += gsub(/}/, "") }
                END { exit !(opened && opened == closed) }
            ' "$part" 2>/dev/null || printf '%s\n' "${info%/info}"
        done
    done
}

# Removes what there is of these paths and lies in a package cache.
drop() { # what is said of each, paths, a line each
    dropped=1
    while IFS= read -r path; do
        if [ -e "$path" ] && [ -n "${path##*/}" ] && [ -e "${path%/*}/urls.txt" ] &&
            rm -rf "$path"; then
            echo "$1: $path" >&2
            dropped=0
        fi
    done <<END
$2
END
    return "$dropped"
}
