"""Compares every file of a prefix with what conda and pip recorded of it. Changes nothing.

$1  prefix   $2  how many names of a kind are told

Prints one JSON object; says on standard error how far it is. Any Python from 3.6 on must be able
to read this, and nothing but the standard library may be needed.

conda's records: conda-meta/*.json, `paths_data` (CEP "info/paths.json"). pip's: RECORD of the
"Recording installed projects" specification, a hash as `sha256=` and urlsafe base64 unpadded.
"""

import base64
import csv
import hashlib
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

CHUNK = 1 << 20
THREADS = 4
NOT_RECORDED = {"INSTALLER", "REQUESTED", "RECORD", "direct_url.json"}
OWN_MARKS = (".sealed", ".built")
OWN_HOOK = "etc/conda/activate.d/~envsync.sh"
OF_ROOT = {"pkgs", "envs"}
NO_CONTENT = hashlib.sha256().hexdigest()
KINDS = ("changed", "missing", "overwritten", "foreign", "other", "unreadable", "moved", "damaged")


def compiled(path):
    """What Python makes of its own accord."""
    return path.endswith((".pyc", ".pyo")) or "__pycache__" in path.split("/")


def walk(prefix):
    """All files and links below the prefix that somebody should own, relative to it."""
    found = []
    is_root = os.path.isdir(os.path.join(prefix, "pkgs"))
    for folder, folders, files in os.walk(prefix):
        here = os.path.relpath(folder, prefix)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        skipped = {"__pycache__"}
        if here == ".":
            skipped |= {"conda-meta"} | (OF_ROOT if is_root else set())
            skipped |= {name for name in files if name.startswith(OWN_MARKS)}
        folders[:] = [name for name in folders if name not in skipped and name not in links]
        names = [name for name in files + links if name not in skipped]
        found += [os.path.normpath(os.path.join(here, name)) for name in names]
    return {path for path in found if not compiled(path)}


def conda_records(prefix):
    """Path to its entries (owner, kind, hash, whether it holds the prefix); damaged records."""
    owned, damaged = {}, []
    folder = os.path.join(prefix, "conda-meta")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as stream:
                record = json.load(stream)
            owner = "%s %s" % (record["name"], record["version"])
            entries = [(path, conda_entry(owner, each)) for path, each in conda_paths(record)]
        except (AttributeError, KeyError, OSError, TypeError, ValueError):
            damaged.append(["conda-meta/" + name, ""])
            continue
        for path, entry in entries:
            if not compiled(path):
                owned.setdefault(os.path.normpath(path), []).append(entry)
    return owned, damaged


def conda_paths(record):
    """Installed path and entry of each file of a record.

    Of a noarch package the entries may have the paths of the package, and `files` the true ones.
    """
    files = record.get("files") or ()
    true = {}
    for path in files:
        _, found, rest = path.partition("/site-packages/")
        true["site-packages/" + rest if found else path.replace("bin/", "python-scripts/", 1)] = (
            path
        )
    paths = (record.get("paths_data") or {}).get("paths") or [{"_path": path} for path in files]
    noarch = record.get("noarch") == "python"
    for entry in paths:
        path = entry["_path"]
        yield (true.get(path, path) if noarch else path), entry


def conda_entry(owner, path):
    holds = bool(path.get("prefix_placeholder"))
    # The package's own hash is that of the placeholder, and never that of the installed file.
    digest = path.get("sha256_in_prefix") if holds else path.get("sha256")
    digest = digest or (None if holds else path.get("sha256_in_prefix"))
    if digest in ("", NO_CONTENT) and path.get("path_type") == "softlink":
        digest = None  # a link that led nowhere when the package was built
    return owner, str(path.get("path_type")), digest and ("sha256", digest.lower()), holds


def pip_records(prefix, files, conda):
    """Path to its entries (owner, hash) by the RECORDs that are not conda's."""
    owned, damaged = {}, []
    for record in sorted(files):
        info = os.path.dirname(record)
        site = os.path.dirname(info)
        if not record.endswith(".dist-info/RECORD") or os.path.basename(site) != "site-packages":
            continue
        if record in conda and installer(os.path.join(prefix, info)) in ("", "conda"):
            continue
        owner = " ".join(os.path.basename(info)[: -len(".dist-info")].rsplit("-", 1))
        try:
            with open(os.path.join(prefix, record), encoding="utf-8", newline="") as stream:
                rows = [(row[0], pip_hash(row[1])) for row in csv.reader(stream) if row]
        except (IndexError, OSError, ValueError, csv.Error):
            damaged.append([record, owner])
            continue
        for name, digest in rows:
            path = os.path.relpath(os.path.join(prefix, site, name), prefix)
            if not path.startswith("..") and not compiled(path):
                owned.setdefault(path, []).append((owner, digest))
    return owned, damaged


def installer(info):
    try:
        with open(os.path.join(info, "INSTALLER"), encoding="utf-8") as stream:
            return stream.read().strip()
    except (OSError, ValueError):
        return ""


def pip_hash(text):
    algorithm, _, digest = text.partition("=")
    if not digest or algorithm not in ("sha256", "sha384", "sha512"):
        return None
    return algorithm, base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex()


class Hasher:
    """Hashes files in a few threads: hashlib lets go of the interpreter's lock."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.bytes = 0
        self.lock = threading.Lock()

    def __call__(self, path, algorithms):
        """The file's hashes by algorithm; None if it is not there, a text if not readable."""
        sums = {name: hashlib.new(name) for name in algorithms}
        try:
            with open(os.path.join(self.prefix, path), "rb") as stream:
                for block in iter(lambda: stream.read(CHUNK), b""):
                    for each in sums.values():
                        each.update(block)
                    with self.lock:
                        self.bytes += len(block)
        except FileNotFoundError:
            return None
        except OSError as error:
            return error.strerror or type(error).__name__
        return {name: each.hexdigest() for name, each in sums.items()}

    def all(self, wanted):
        with ThreadPoolExecutor(THREADS) as pool:
            jobs = {path: pool.submit(self, path, names) for path, names in wanted.items()}
            told = time.time()
            done = {}
            for number, (path, job) in enumerate(jobs.items(), 1):
                done[path] = job.result()
                if time.time() - told > 1:
                    told = time.time()
                    line = "hashed %d of %d files, %d MB" % (number, len(jobs), self.bytes / 1e6)
                    sys.stderr.write(line + "\n")
                    sys.stderr.flush()
        return done


def wanted_hashes(prefix, files, conda, pip):
    """Path to algorithms, of the files that are there and that somebody has a hash of."""
    wanted = {}
    for path in files:
        if os.path.islink(os.path.join(prefix, path)) and is_link(conda.get(path, ())):
            continue
        entries = [e[2] for e in conda.get(path, ())] + [e[1] for e in pip.get(path, ())]
        if any(entries):
            wanted[path] = {digest[0] for digest in entries if digest}
    return wanted


def is_link(entries):
    # What a package records as the hash of a link is not that of what it leads to here.
    return any(kind == "softlink" for _, kind, _, _ in entries)


def judge(prefix, files, conda, pip, hashes):
    """Kind to pairs of a path and whose it is."""
    found = {kind: [] for kind in KINDS}
    stale = []
    kept = False
    for path in sorted(set(conda) | set(pip)):
        c, p = conda.get(path, []), pip.get(path, [])
        owner = (p or c)[0][0]
        real = hashes.get(path, {})
        if (path not in files and not os.path.lexists(os.path.join(prefix, path))) or real is None:
            found["missing"].append([path, owner])
        elif isinstance(real, str):
            found["unreadable"].append([path, real])
        elif c and any(conda_agrees(prefix, path, entry, real) for entry in c):
            kept = kept or any(holds and digest for _, _, digest, holds in c)
        elif p and any(agrees(digest, real) for _, digest in p):
            if c:
                found["overwritten"].append([path, "%s of conda by %s of pip" % (c[0][0], owner)])
        elif not p and c[0][3]:
            stale.append([path, owner])
        else:
            found["changed"].append([path, owner])
    # The hashes of files that hold the prefix are those of the prefix they were installed to: in
    # an environment that was moved none of them fits, and nothing can be said of them.
    for path, owner in stale:
        here = kept or holds_text(os.path.join(prefix, path), os.fsencode(prefix))
        found["changed" if here else "moved"].append([path, owner])
    replaced(found, conda)
    found["foreign"], found["other"] = foreign(files, conda, pip)
    return found


def agrees(digest, real):
    return digest is None or real.get(digest[0]) == digest[1]


def conda_agrees(prefix, path, entry, real):
    _, kind, digest, _ = entry
    if kind == "softlink" and os.path.islink(os.path.join(prefix, path)):
        return True
    # Where it cannot link, conda copies what a link leads to; conda-build has recorded its hash.
    return agrees(digest, real)


def holds_text(path, text):
    try:
        with open(path, "rb") as stream:
            return text in stream.read()
    except OSError:
        return False


def replaced(found, conda):
    """Files of a conda package that pip has put another version over are not just missing."""
    by = {}
    for path, told in found["overwritten"]:
        for entry in conda[path]:
            by[entry[0]] = told
    gone = [each for each in found["missing"] if each[1] in by and "/site-packages/" in each[0]]
    found["missing"] = [each for each in found["missing"] if each not in gone]
    found["overwritten"] += [[path, by[owner]] for path, owner in gone]


def foreign(files, conda, pip):
    """Files that nobody owns: those that a job may run or load, and the others."""
    infos = {os.path.dirname(path) for path in (*conda, *pip) if ".dist-info/" in path}
    loaded, others = [], []
    for path in sorted(files - set(conda) - set(pip) - {OWN_HOOK}):
        folder, name = os.path.split(path)
        if folder in infos and name in NOT_RECORDED:
            continue
        runs = path.startswith(("bin/", "etc/conda/")) or "/site-packages/" in path
        (loaded if runs or ".so" in name else others).append([path, ""])
    return loaded, others


def main(prefix, most):
    prefix = os.path.realpath(prefix)
    files = walk(prefix)
    conda, damaged = conda_records(prefix)
    pip, torn = pip_records(prefix, files, conda)
    hasher = Hasher(prefix)
    hashes = hasher.all(wanted_hashes(prefix, files, conda, pip))
    found = judge(prefix, files, conda, pip, hashes)
    found["damaged"] = damaged + torn
    answer = {kind: {"count": len(each), "first": each[:most]} for kind, each in found.items()}
    answer.update(files=len(hashes), bytes=hasher.bytes)
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
