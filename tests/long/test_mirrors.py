"""Nodes that ask a mirror, with a login, a proxy and certificates; the lock knows of none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster, Lab, Node, Ran
from cluster.secrecy import Watch, holders
from cluster.waiting import processes_below, wait_until
from cluster.web import Web
from long.proxy import Proxy, authority

PASSWORD = "pw-7c20e4b9"  # noqa: S105 (of a server that lives as long as a test)
WHEEL = "numlike-2.1.0-py3-none-any.whl"
CHANNEL = "https://conda.anaconda.org/own"


@pytest.fixture
def served(lab: Lab, tmp_path: Path) -> Path:
    """A folder as a mirror has it: channels, an index, and files."""
    folder = tmp_path / "served"
    index = folder / "pypi" / "einlike"
    index.mkdir(parents=True)
    (folder / "conda").mkdir()
    (folder / "conda" / "own").symlink_to(lab.channel.folder)
    (folder / "files").symlink_to(lab.wheels)
    (wheel,) = lab.wheels.glob("einlike-*.whl")
    (index / wheel.name).symlink_to(wheel)
    (index / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>\n')
    return folder


@pytest.fixture
def private(served: Path) -> Iterator[Web]:
    """A mirror that wants a login."""
    with Web(served, address="127.0.0.9", login=f"robot:{PASSWORD}") as web:
        yield web


def write(cluster: Cluster) -> None:
    """An environment of addresses that lead nowhere; short names are an alias of such a one."""
    (cluster.folder / "environment.yml").write_text(
        "name: train\nchannels:\n  - own\n  - nodefaults\n"
        "dependencies:\n  - python=3\n  - pip\n  - tiny\n  - pip:\n"
        "      - --index-url https://index.invalid/simple\n      - einlike==0.8.0\n"
        f"      - numlike @ https://files.invalid/{WHEEL}\n"
    )
    for node in cluster.nodes:
        condarc = node.home / ".condarc"
        condarc.write_text("channel_alias: https://alias.invalid\nremote_max_retries: 0\n")
        (node.home / ".config" / "pip" / "pip.conf").write_text("[global]\nretries = 0\n")


def mapped(url: str, login: str = "") -> list[str]:
    """The options that lead to a mirror."""
    mirror = url.replace("://", f"://{login}") if login else url
    pairs = [
        f"https://conda.anaconda.org={mirror}/conda",
        f"https://index.invalid/simple={mirror}/pypi",
        f"https://files.invalid={mirror}/files/",
    ]
    return [word for pair in pairs for word in ("--channel-map", pair)]


def good(done: Ran) -> Ran:
    assert done.code == 0, done.out + done.err
    return done


def prefix(node: Node) -> Path:
    return Path(os.path.realpath(node.envs / "train"))


def addresses(node: Node) -> list[str]:
    """All that conda and pip have on record of where packages came from."""
    found = [json.loads(each.read_text()) for each in prefix(node).glob("conda-meta/*.json")]
    origins = prefix(node).glob("lib/python*/site-packages/*.dist-info/direct_url.json")
    return [
        *(f"{record['url']} {record['channel']}" for record in found),
        *(json.loads(each.read_text())["url"] for each in origins),
    ]


def test_lock_and_environment_are_the_same_by_whatever_mirror(
    make_cluster: Maker, served: Path, private: Web, tmp_path: Path
) -> None:
    cluster = make_cluster(2)
    one, two = cluster.nodes
    write(cluster)
    home = tmp_path / "operator"
    home.mkdir()
    env = {"MIRROR_PW": PASSWORD, "HOME": str(home)}
    by_login = mapped(private.url, "robot:$MIRROR_PW@")
    with Web(served) as public, Watch(PASSWORD) as watch:
        good(cluster.run("lock", one.host, *mapped(public.url)))
        first = cluster.lock.read_bytes()
        said = [good(cluster.run("lock", one.host, "--relock", *by_login, env=env))]
        assert cluster.lock.read_bytes() == first
        for node in cluster.nodes:
            shutil.rmtree(node.root / "pkgs")
        said += [good(cluster.run("push", one.host, "--json", "-v", *by_login, env=env))]
        good(cluster.run("push", two.host, *mapped(public.url)))
    assert CHANNEL.encode() in first
    assert b"127.0.0" not in first
    assert {path.split("/")[1] for path, *_ in private.asked} == {"conda", "pypi", "files"}
    said += [good(cluster.run("verify", "hosts.txt", "--json", env=env))]
    said += [good(cluster.run("diff", one.host, two.host, "--hosts", "hosts.txt", env=env))]
    said += [good(cluster.run("log", "--json", env=env))]
    said += [good(cluster.run("push", "hosts.txt", "--json"))]
    assert set(said[-1].outcomes.values()) == {"in sync"}

    assert addresses(one) == addresses(two)
    assert f"https://files.invalid/{WHEEL}" in addresses(one)
    assert all("127.0.0" not in each for each in addresses(one))
    assert "127.0.0" not in (prefix(one) / "conda-meta" / "history").read_text()
    beside = [each for each in prefix(one).parent.iterdir() if each.is_file()]
    assert all(b"127.0.0" not in each.read_bytes() for each in beside)
    assert watch.rounds > 20
    assert not watch.seen
    assert not [each for each in said if PASSWORD in each.out + each.err]
    # Also conda's package cache, which keeps addresses, knows no password.
    for folder in (cluster.folder, home, one.home):
        assert not holders(folder, [PASSWORD])
    python = prefix(one) / "bin" / "python"
    words = [str(python), "-m", "pip", "check"]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_nothing_of_a_login_is_left_when_the_connection_goes(
    make_cluster: Maker, private: Web
) -> None:
    cluster = make_cluster(1)
    (node,) = cluster.nodes
    write(cluster)
    env = {"MIRROR_PW": PASSWORD}
    by_login = mapped(private.url, "robot:$MIRROR_PW@")
    good(cluster.run("lock", "hosts.txt", *by_login, env=env))
    shutil.rmtree(node.root / "pkgs")
    private.asked.clear()
    private.gate.clear()
    words = cluster.command("push", "hosts.txt", *by_login)
    push = subprocess.Popen(words, cwd=cluster.folder, env={**os.environ, **env})
    wait_until(lambda: any(path.endswith(".bz2") for path, *_ in private.asked))
    assert not holders(node.home, [PASSWORD])  # in the midst of it
    node.cut_connections()
    assert push.wait(60) == 1
    private.gate.set()
    wait_until(lambda: not processes_below(node))
    assert not holders(node.home, [PASSWORD])
    assert not holders(cluster.folder, [PASSWORD])
    good(cluster.run("push", "hosts.txt", *by_login, env=env))


def test_wrong_login_is_told_without_it(make_cluster: Maker, private: Web) -> None:
    cluster = make_cluster(1)
    (node,) = cluster.nodes
    write(cluster)
    env = {"MIRROR_PW": PASSWORD}
    by_login = mapped(private.url, "robot:$MIRROR_PW@")
    missing = cluster.run("lock", "hosts.txt", *by_login)
    assert (missing.code, "MIRROR_PW is not set" in missing.err) == (2, True), missing.err
    good(cluster.run("lock", "hosts.txt", *by_login, env=env))
    private.wants = "Basic other"
    shutil.rmtree(node.root / "pkgs")
    done = cluster.run("push", "hosts.txt", "--json", *by_login, env=env)
    assert done.code == 1, done.out
    assert PASSWORD not in done.out + done.err
    assert not holders(node.home, [PASSWORD])
    assert not holders(cluster.folder, [PASSWORD])


def test_this_machine_asks_the_mirror_for_nodes_without_the_internet(
    make_cluster: Maker, private: Web, tmp_path: Path
) -> None:
    cluster = make_cluster(1)
    (node,) = cluster.nodes
    write(cluster)
    env = {"MIRROR_PW": PASSWORD, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    env |= {"PIP_CONFIG_FILE": os.devnull}
    by_login = mapped(private.url, "robot:$MIRROR_PW@")
    table = dict(word.split("=", 1) for word in by_login[1::2])
    lines = [f'"{original}" = "{mirror}"\n' for original, mirror in table.items()]
    (cluster.folder / "envsync.toml").write_text("[channel-map]\n" + "".join(lines))
    good(cluster.run("lock", "hosts.txt", env=env))
    shutil.rmtree(node.root / "pkgs")
    private.asked.clear()
    with Watch(PASSWORD) as watch:
        good(cluster.run("bundle", "-o", "b.tar", env=env))
        good(cluster.run("push", "hosts.txt", "--offline", env=env))
    assert private.agents(".tar.bz2") == {"envsync"}
    assert private.agents(".whl") == {"pip"}
    assert any(each.startswith(f"{CHANNEL}/") for each in addresses(node))
    assert not watch.seen
    for folder in (cluster.folder, node.home, tmp_path / "cache"):
        assert not holders(folder, [PASSWORD])


def test_way_by_a_proxy_with_certificates_of_the_site(
    make_cluster: Maker, served: Path, tmp_path: Path
) -> None:
    cluster = make_cluster(1)
    (node,) = cluster.nodes
    write(cluster)
    ca, context = authority(tmp_path / "authority", "127.0.0.9")
    shutil.copyfile(ca, cluster.folder / "site.pem")
    env = {"PROXY_PW": PASSWORD}
    with (
        Proxy(f"me:{PASSWORD}") as proxy,
        Web(served, address="127.0.0.9", context=context) as web,
        Watch(PASSWORD) as watch,
    ):
        by_mirror = mapped(web.url)
        # The machine that plays the node may have certificates for its pip.
        by_mirror.append("--override-node-settings")
        without = cluster.run("lock", "hosts.txt", *by_mirror)
        assert (without.code, "SSL" in without.out) == (1, True), without.out
        (cluster.folder / "envsync.toml").write_text(
            f'proxy = "http://me:$PROXY_PW@{proxy.address}"\nca-bundle = "site.pem"\n'
        )
        missing = cluster.run("lock", "hosts.txt", *by_mirror)
        assert (missing.code, "PROXY_PW is not set" in missing.err) == (2, True)
        good(cluster.run("lock", "hosts.txt", *by_mirror, env=env))
        shutil.rmtree(node.root / "pkgs")
        web.asked.clear()
        proxy.tunnels.clear()
        done = good(cluster.run("push", "hosts.txt", "--json", *by_mirror, env=env))
        assert {path.split("/")[1] for path, *_ in web.asked} == {"conda", "pypi", "files"}
        assert set(proxy.tunnels) == {web.url.partition("://")[2]}
        assert proxy.refused == 0
        assert PASSWORD not in done.out + done.err
        keeps_its_own(cluster, proxy, by_mirror[:-1], env)
    assert not watch.seen
    assert not holders(node.home, [PASSWORD])
    assert not holders(cluster.folder, [PASSWORD])
    assert not [
        each for each in node.home.rglob("*") if each.name in {"ca.pem", "certificates.pem"}
    ]


def keeps_its_own(
    cluster: Cluster, proxy: Proxy, by_mirror: list[str], env: dict[str, str]
) -> None:
    """A node that has settings for a proxy has them for a reason."""
    (node,) = cluster.nodes
    condarc = node.home / ".condarc"
    before = condarc.read_text()
    condarc.write_text(before + "proxy_servers:\n  https: http://127.0.0.1:9\n")
    tunnels = len(proxy.tunnels)
    shutil.rmtree(node.root / "pkgs")
    words = ("push", "hosts.txt", "--rebuild", *by_mirror)
    done = cluster.run(*words, env=env)
    assert done.code == 1
    assert "this node keeps its own settings for proxy" in done.out
    done = cluster.run(*words, "--override-node-settings", env=env)
    assert (done.code, "take it out there" in done.out) == (1, True), done.out
    assert len(proxy.tunnels) == tunnels
    condarc.write_text(before)
    pip_conf = node.home / ".config" / "pip" / "pip.conf"
    pip_conf.write_text(pip_conf.read_text() + "proxy = http://127.0.0.1:9\n")
    good(cluster.run(*words, "--override-node-settings", env=env))
    assert len(proxy.tunnels) > tunnels
