# shellcheck shell=sh
# Put before the scripts that need it.

# What conda's records in a prefix say, as lines of FILE:KEY, without starting anything. conda
# writes one key a line (json.dump with indent); only top-level ones are wanted, and of the
# files only those that tell which Python packages are conda's.
records() { # prefix
    (
        cd "$1/conda-meta" || exit 4
        # The names come first: a record that is damaged is still there.
        for record in *.json; do
            [ ! -f "$record" ] || printf '%s:\n' "$record"
        done
        grep -H -E -e '^ {2,4}"(name|version|build|build_string|channel|url|md5|sha256)":' \
            -e '(dist-info/METADATA|egg-info/PKG-INFO|\.egg-info)"' -- *.json
        :
    )
}
