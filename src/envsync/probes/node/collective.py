"""One rank of an all-reduce over the nodes: meet, reduce, check the value, measure, say so.

Each stage is told as it is reached, so that of a rank that hangs it is known where.
"""

import errno
import fcntl
import json
import os
import socket
import struct
import time
from datetime import timedelta

SIOCGIFADDR = 0x8915
"""Linux, <linux/sockios.h>: an interface's IPv4 address; struct ifreq as in netdevice(7)."""

MEBIBYTES = {"gloo": 16, "nccl": 64}
PAUSE = 0.1
GRACE = 10
"""Seconds that ranks stay after a failure, to hear which of them are stuck."""


def muster_facts(port):
    """What is looked at before anybody waits for others. Port 0: this one opens none."""
    yield "interfaces", interfaces
    if port:
        yield "port", lambda: port_trouble(port)


def interfaces():
    """Name to IPv4 address; empty where there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        return {name: address_of(asker, name) for _, name in socket.if_nameindex()}


def address_of(asker, name):
    request = struct.pack("256s", name.encode()[:15])
    try:
        return socket.inet_ntoa(fcntl.ioctl(asker.fileno(), SIOCGIFADDR, request)[20:24])
    except OSError:
        return ""


def port_trouble(port):
    """Why nothing can listen there; empty if something can."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(("", port))
            server.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return "in use"
            return error.strerror or type(error).__name__
    return ""


class GaveUpError(Exception):
    """What went wrong, as a sentence."""


class Rank:
    """Takes part as one of `world` ranks. `wait` is seconds for each step."""

    def __init__(self, tell, rank, world, backend, address, port, wait):
        self.tell = tell
        self.rank = rank
        self.world = world
        self.backend = backend
        self.address = address
        self.port = port
        self.wait = wait
        self.store = None

    def run(self):
        self.reach("started")
        import torch

        self.torch = torch
        self.reach("imported")
        self.deadline = time.monotonic() + self.wait
        self.store = self.rendezvous()
        self.reach("reached")
        self.meet("arrived")
        self.reach("arrived")
        self.form()
        self.reach("formed")
        self.reduce()
        self.reach("reduced")
        if self.world > 1:
            self.measure_links()
        self.reach("measured")

    def reach(self, stage):
        self.tell(stage=stage)

    def rendezvous(self):
        """The store that rank 0 keeps, as torchrun's c10d rendezvous does."""
        store = self.torch.distributed.TCPStore
        more = {"timeout": timedelta(seconds=self.wait), "wait_for_workers": False}
        if self.rank == 0:
            return store("127.0.0.1", self.port, is_master=True, **more)
        self.knock()
        return store(self.address, self.port, is_master=False, **more)

    def knock(self):
        """Wait for rank 0's port, and tell what kind of silence there was."""
        heard = ""
        while True:
            left = self.deadline - time.monotonic()
            try:
                link = socket.create_connection((self.address, self.port), max(1.0, left))
            except socket.gaierror:
                heard = "cannot be reached: its name is not known here"
            except (socket.timeout, TimeoutError):
                heard = "does not answer: something drops what is sent there, such as a firewall"
            except ConnectionRefusedError:
                heard = "is closed"
            except OSError as error:
                heard = "cannot be reached: %s" % (error.strerror or type(error).__name__)
            else:
                link.close()
                return
            if time.monotonic() >= self.deadline:
                self.tell(missing=[0])
                where = (self.port, self.address, heard)
                raise GaveUpError("port %d of rank 0 at %s %s" % where)
            time.sleep(PAUSE)

    def meet(self, what):
        """Wait until all ranks are here; otherwise say which are not."""
        self.store.set("%s/%d" % (what, self.rank), "yes")
        count = self.store.add(what, 1)
        while count < self.world:
            if time.monotonic() >= self.deadline:
                self.tell(missing=self.without(what))
                raise GaveUpError("")
            time.sleep(PAUSE)
            count = self.store.add(what, 0)

    def without(self, what):
        """The ranks that have not come so far."""
        keys = (("%s/%d" % (what, rank), rank) for rank in range(self.world))
        return [rank for key, rank in keys if not self.store.check([key])]

    def form(self):
        if self.backend == "nccl":
            if not self.torch.cuda.is_available():
                raise GaveUpError("nccl needs a GPU, and torch sees none")
            self.torch.cuda.set_device(0)
            os.environ.setdefault("TORCH_NCCL_BLOCKING_WAIT", "1")
        self.torch.distributed.init_process_group(
            self.backend,
            store=self.torch.distributed.PrefixStore("envsync", self.store),
            rank=self.rank,
            world_size=self.world,
            timeout=timedelta(seconds=self.wait),
        )

    def tensor(self, count):
        device = "cuda:0" if self.backend == "nccl" else "cpu"
        return self.torch.zeros(count, dtype=self.torch.float32, device=device)

    def reduce(self):
        """Sums of integers that fp32 holds exactly: every element must be right to the bit."""
        all_reduce = self.torch.distributed.all_reduce
        small, count = self.tensor(1), MEBIBYTES[self.backend] << 18
        latency = middle([self.timed(lambda: all_reduce(small)) for _ in range(20)])
        pattern = (self.torch.arange(count) % 97).to(self.tensor(1))
        wanted = pattern * self.world + self.world * (self.world - 1) // 2
        times = []
        for _ in range(3):
            given = pattern + self.rank
            times.append(self.timed(lambda given=given: all_reduce(given)))
            wrong = (given != wanted).nonzero()
            if len(wrong):
                at = int(wrong[0])
                where = (at, float(given[at]), float(wanted[at]))
                raise GaveUpError("the sum is wrong: element %d is %r instead of %r" % where)
        # What the network carries (nccl-tests, PERFORMANCE.md: bus bandwidth).
        carried = 4.0 * count * 2 * (self.world - 1) / self.world
        self.tell(latency=latency, bandwidth=carried / min(times))

    def measure_links(self):
        """Each rank with its two neighbours in the ring, all pairs of a phase at once.

        One slow node spoils the all-reduce of all; of its two links both are slow, of its
        neighbours' only one. So the better one of two speaks for a node.
        """
        last = self.world - 1
        pairs = [
            [(one, one + 1) for one in range(0, last, 2)],
            [(one, one + 1) for one in range(1, last, 2)],
            [(last, 0)] if last > 1 else [],
        ]
        found = []
        for phase in pairs:
            self.torch.distributed.barrier()
            for one, other in phase:
                if self.rank in (one, other):
                    found.append(self.link(one, other))
        self.torch.distributed.barrier()
        best = {
            "link_latency": min(latency for latency, _ in found),
            "link_bandwidth": max(bandwidth for _, bandwidth in found),
        }
        self.tell(**best)

    def link(self, one, other):
        """Seconds for a way, and bytes a second, between this rank and another."""
        small, large = self.tensor(1), self.tensor(MEBIBYTES[self.backend] << 18)
        latency = middle([self.timed(lambda: self.ping(one, other, small)) / 2 for _ in range(20)])
        seconds = min(self.timed(lambda: self.ping(one, other, large)) / 2 for _ in range(3))
        return latency, 4.0 * len(large) / seconds

    def ping(self, one, other, tensor):
        distributed = self.torch.distributed
        if self.rank == one:
            distributed.send(tensor, other)
            distributed.recv(tensor, other)
        else:
            distributed.recv(tensor, one)
            distributed.send(tensor, one)

    def timed(self, operation):
        began = time.perf_counter()
        operation()
        if self.backend == "nccl":
            self.torch.cuda.synchronize()
        return time.perf_counter() - began

    def leave(self, failed):
        """Wait a little for the others: rank 0 keeps the store, and who is stuck can be named."""
        if self.store is None:
            return
        self.store.set("left/%d" % self.rank, "yes")
        until = time.monotonic() + (GRACE + 5 if self.rank == 0 else GRACE)
        expected = set(range(self.world)) if failed else set()
        if self.rank == 0 or failed:
            expected = expected or set(range(self.world)) - set(self.without("arrived"))
            while expected & set(self.without("left")) and time.monotonic() < until:
                time.sleep(PAUSE)
        if failed:
            self.tell(missing=self.without("left"))


def middle(values):
    return sorted(values)[len(values) // 2]


def take_part(rank, world, backend, address, port, interface, wait):
    """Run one rank to its end, whatever that is."""
    stream = os.fdopen(3, "w", encoding="utf-8")

    def tell(**facts):
        stream.write(json.dumps(facts) + "\n")
        stream.flush()

    if interface:
        os.environ["GLOO_SOCKET_IFNAME"] = interface
        os.environ["NCCL_SOCKET_IFNAME"] = interface
    me = Rank(tell, rank, world, backend, address, port, wait)
    failed = True
    try:
        me.run()
        failed = False
        tell(ok=True)
    except GaveUpError as error:
        # Without a text it is said who is missing.
        failed = bool(str(error))
        tell(**({"failed": str(error)} if failed else {}))
    except BaseException as error:
        tell(failed=trouble(error))
    try:
        me.leave(failed)
    except BaseException as error:  # the store went with rank 0; what failed is said already
        tell(left=trouble(error))
    os._exit(0)  # the end of an interpreter that holds process groups can hang as well


def trouble(error):
    """An exception's own words, without the stack of C++ that torch puts below them."""
    first = (str(error).strip().splitlines() or [""])[0]
    return "%s: %s" % (type(error).__name__, first)
