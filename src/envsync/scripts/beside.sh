# shellcheck shell=sh
# Put before the scripts that need it.

# What may lie beside a prefix, by suffix: what it was made from.
beside() {
    echo yml lock explicit.txt pip.txt direct.txt origin.txt state files.tar ca.pem
}
