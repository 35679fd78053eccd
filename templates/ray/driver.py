"""Places the ranks of an openmanus-rl run on a Ray cluster, all of them or none, and keeps them there.

The only Python of the product: wherever Ray is, Python is. `openmanus-rl train trainer.launcher=ray` submits it as a
job, or starts it where the command itself runs inside a job. What to run is JSON in OPENMANUS_RAY_PLAN. Rank 0's output
is this program's; another rank's is shown when it fails. A rank or a machine that is lost ends all ranks; they are
started again, and go on from the last checkpoint, at most so often.
"""

import collections
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

INTERRUPTED = 130
POLL_SECONDS = 0.5
LINES_KEPT = 20
# A machine that does not answer is lost, whether or not Ray has noticed.
ANSWER_SECONDS = 20


class Rank:
    """One rank: a process on a machine of the cluster, which dies with this actor."""

    def __init__(self):
        self.process = None
        self.lines = collections.deque()

    def where(self):
        with socket.socket() as found:
            found.bind(("", 0))
            return ray.util.get_node_ip_address(), found.getsockname()[1]

    def start(self, words, folder, variables):
        def die_with_parent():
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)

        self.process = subprocess.Popen(
            words,
            cwd=folder if os.path.isdir(folder) else None,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            preexec_fn=die_with_parent,
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def poll(self):
        code = self.process.poll()
        if code is not None:
            time.sleep(0.05)  # the last lines
        lines = [self.lines.popleft() for _ in range(len(self.lines))]
        return code, lines

    def stop(self, number):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)


class Lost(Exception):
    """Why the ranks have to be started again."""


def say(text):
    print(text, flush=True)


class Group:
    def __init__(self, plan, attempt):
        self.plan = plan
        self.attempt = attempt
        self.ranks = []
        self.bundles = None

    def place(self):
        nodes, each = self.plan["nodes"], self.plan["ranksPerNode"]
        share = {"CPU": 1, **({"GPU": 1} if self.plan["gpu"] else {})}
        bundle = {name: count * each for name, count in share.items()}
        self.bundles = placement_group([bundle] * nodes, strategy="SPREAD" if nodes > 1 else "PACK")
        told = False
        while not self.bundles.wait(1):
            if stopping():
                return
            if not told:
                say(f"waiting until the cluster has {nodes} times {bundle} free")
            told = True
        rank = ray.remote(Rank)
        for number in range(nodes * each):
            place = PlacementGroupSchedulingStrategy(self.bundles, number // each)
            options = {"num_cpus": 1, "num_gpus": share.get("GPU", 0), "max_restarts": 0}
            self.ranks.append(rank.options(scheduling_strategy=place, **options).remote())
        host, port = answer(self.ranks[0].where.remote(), "rank 0")
        for number, one in enumerate(self.ranks):
            variables = {
                **self.plan["variables"],
                "RANK": str(number),
                "LOCAL_RANK": "0" if self.plan["gpu"] else str(number % each),
                "WORLD_SIZE": str(len(self.ranks)),
                "MASTER_ADDR": host,
                "MASTER_PORT": str(port),
                "OPENMANUS_RESTART": str(self.attempt),
            }
            one.start.remote(self.plan["words"], self.plan["folder"], variables)

    def watch(self):
        """The exit code of the run; raises Lost."""
        codes = [None] * len(self.ranks)
        last = [collections.deque(maxlen=LINES_KEPT) for _ in self.ranks]
        told = False
        while None in codes:
            if stopping() and not told:
                told = True
                for one in self.ranks:
                    one.stop.remote(signal.SIGTERM)
            asked = [(i, one.poll.remote()) for i, one in enumerate(self.ranks) if codes[i] is None]
            for number, poll in asked:
                codes[number], lines = answer(poll, f"rank {number}")
                last[number].extend(lines)
                if number == 0:
                    for line in lines:
                        say(line)
                if codes[number] not in (None, 0, INTERRUPTED) and not stopping():
                    self.gather(codes, last)
                    self.fail(number, codes[number], last[number])
            time.sleep(POLL_SECONDS)
        return codes[0]

    def gather(self, codes, last):
        """What the others have to say within a moment: most end by themselves, with a sentence."""
        time.sleep(1)
        for number, one in enumerate(self.ranks):
            if codes[number] is None:
                try:
                    last[number].extend(answer(one.poll.remote(), "", 2)[1])
                except Lost:
                    continue
                if number == 0:
                    for line in last[0]:
                        say(line)

    def fail(self, number, code, lines):
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        if number != 0:
            for line in lines:
                say(f"[rank {number}] {line}")
        raise Lost(f"rank {number} {how}")

    def end(self):
        for one in self.ranks:
            ray.kill(one)
        if self.bundles is not None:
            remove_placement_group(self.bundles)
        self.ranks = []


def answer(reference, who, seconds=ANSWER_SECONDS):
    try:
        return ray.get(reference, timeout=seconds)
    except ray.exceptions.GetTimeoutError:
        raise Lost(f"the machine of {who} has not answered for {seconds} s") from None
    except ray.exceptions.RayError as error:
        raise Lost(f"{who} is lost: {str(error).strip().splitlines()[0]}") from None


STOP = threading.Event()


def stopping():
    return STOP.is_set()


def main():
    plan = json.loads(os.environ.pop("OPENMANUS_RAY_PLAN"))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: STOP.set())
    ray.init(address="auto", log_to_driver=False, logging_level="ERROR", namespace="openmanus-rl")
    for attempt in range(plan["maxFailures"] + 1):
        group = Group(plan, attempt)
        try:
            group.place()
            return INTERRUPTED if stopping() and not group.ranks else group.watch()
        except Lost as lost:
            left = plan["maxFailures"] - attempt
            say(f"ray: {lost}" + (f"; all ranks start again (at most {left} times more)" if left else ""))
            if stopping():
                return INTERRUPTED
        finally:
            group.end()
    say("ray: given up; the same command goes on from the last checkpoint (trainer.max_failures)")
    return 1


sys.exit(main())
