# shellcheck shell=sh
# Put before the scripts that need it.

tool() { # prefix: what to call there
    for exe in "$1/condabin/conda" "$1/bin/conda" "$1/bin/mamba" "$1/bin/micromamba"; do
        if [ -x "$exe" ]; then
            printf '%s\n' "$exe"
            return
        fi
    done
}
