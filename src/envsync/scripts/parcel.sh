# shellcheck shell=sh
# Put before the scripts that need it, which set wheels, place and layout.
# shellcheck disable=SC2154

size_of() { # file
    if [ -f "$1" ]; then wc -c <"$1" | tr -d ' '; else echo 0; fi
}

sha256_of() { # file
    if command -v sha256sum >/dev/null; then
        sha256sum <"$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 <"$1"
    else
        openssl dgst -sha256 -r <"$1"
    fi | cut -c 1-64
}

# Where the file with that address lies: `-` is a wheel's. mamba 2.6 and later has a folder for
# each channel in its cache (libmamba, package_cache.cpp), all others have none.
folder_of() { # address
    case $1 in
    -) printf '%s\n' "$wheels" ;;
    *)
        if [ "$layout" = nested ]; then
            channel=$(printf '%s\n' "$1" | sed 's|/[^/]*$||; s|://|/|; s|[:\\]|_|g')
            printf '%s/%s\n' "$place" "$channel"
        else
            printf '%s\n' "$place"
        fi
        ;;
    esac
}

# Whether conda would take the unpacked package in a folder for the one with that address: it
# compares what stands in info/repodata_record.json.
unpacked() { # folder, address, md5
    [ -f "$1/info/repodata_record.json" ] &&
        grep -F -q "\"url\": \"$2\"" "$1/info/repodata_record.json" &&
        grep -F -q "\"md5\": \"$3\"" "$1/info/repodata_record.json"
}

# Whether an archive that is not unpacked would get that address: the last one of its name counts.
registered() { # address, name
    [ -f "$place/urls.txt" ] && [ "$(grep -F "/$2" "$place/urls.txt" | tail -n 1)" = "$1" ]
}
