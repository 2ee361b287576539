# shellcheck shell=sh
# Put before the scripts that need it.

# Puts on record where packages are from, in place of where they were fetched this time.

# conda's records: addresses that begin with a mirror, in the lines that hold one.
recall_conda() { # prefix, lines of MIRROR<tab>ORIGINAL
    [ -n "$2" ] || return 0
    (
        cd "$1/conda-meta" 2>/dev/null || exit 0 # there are no records
        set -- "$2" ./*.json ./history
        pairs=$1
        shift
        for file in "$@"; do
            shift
            [ ! -f "$file" ] || set -- "$@" "$file"
        done
        [ $# -gt 0 ] || exit 0
        PAIRS=$pairs awk '
            BEGIN {
                count = split(ENVIRON["PAIRS"], lines, "\n")
                for (i = 1; i <= count; i++) {
                    split(lines[i], pair, "\t")
                    if (pair[1] != "") { mirrors[++known] = pair[1]; originals[known] = pair[2] }
                }
            }
            # The longest mirror that stands at the front, up to the end of a folder.
            function whence(text, i, after) {
                for (i = 1; i <= known; i++) {
                    if (index(text, mirrors[i]) != 1) continue
                    after = substr(text, length(mirrors[i]) + 1)
                    if (after ~ /^($|[\/"#?,; \]\047]|::)/) return i
                }
                return 0
            }
            function recalled(line, out, at, i, url) {
                out = ""
                while (match(line, /[a-z][a-z0-9]*:\/\//)) {
                    at = RSTART
                    out = out substr(line, 1, at - 1)
                    line = substr(line, at)
                    if (i = whence(line)) {
                        out = out originals[i]
                        line = substr(line, length(mirrors[i]) + 1)
                    } else {
                        match(line, /:\/\//)
                        out = out substr(line, 1, RSTART + 2)
                        line = substr(line, RSTART + 3)
                    }
                }
                return out line
            }
            function write(i) {
                if (changed) {
                    for (i = 1; i <= last; i++) print text[i] >name
                    close(name)
                }
            }
            FNR == 1 { write(); name = FILENAME; changed = 0; all = name == "./history" }
            {
                text[FNR] = $0
                last = FNR
                if (all || /^ *"(url|channel|base_url|requested_spec)":/) text[FNR] = recalled($0)
                if (text[FNR] != $0) changed = 1
            }
            END { write() }
        ' "$@"
    )
}

# pip's (PyPA, "Recording the Direct URL Origin"), with their hashes in RECORD.
recall_pip() { # prefix, file with lines of NAME ADDRESS or empty, lines of MIRROR<tab>ORIGINAL
    [ -n "$2$3" ] && [ -x "$1/bin/python" ] || return 0
    "$1/bin/python" -I -c '
import base64, csv, hashlib, importlib.metadata as metadata, json, re, sys

def plain(name):
    return re.sub("[-_.]+", "-", name).lower()

named = [line.split() for line in open(sys.argv[1])] if sys.argv[1] else []
known = {plain(name): address for name, address in named}
pairs = [line.split("\t") for line in sys.argv[2].splitlines()]

def origin(name, url):
    if name in known:
        return known[name]
    for mirror, original in pairs:
        if url.startswith(mirror) and url[len(mirror):][:1] in ("", "/", "#", "?"):
            return original + url[len(mirror):]
    return url

for found in metadata.distributions():
    text = found.read_text("direct_url.json")
    if not text or not found.files:
        continue
    record = json.loads(text)
    url = origin(plain(found.metadata["Name"]), record["url"])
    if url == record["url"]:
        continue
    files = {each.name: each.locate() for each in found.files
             if each.parent.name.endswith(".dist-info")}
    raw = json.dumps({**record, "url": url}, sort_keys=True).encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
    with open(files["RECORD"], newline="") as lines:
        rows = list(csv.reader(lines))
    for row in rows:
        if row[0].endswith(".dist-info/direct_url.json"):
            row[1:] = ["sha256=" + digest, str(len(raw))]
    files["direct_url.json"].write_bytes(raw)
    with open(files["RECORD"], "w", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows(rows)
' "$2" "$3" >&2 </dev/null
}
