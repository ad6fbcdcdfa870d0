"""Ray as far as a pool of the release uses it, in this process."""

import pickle
import sys
from contextlib import nullcontext
from functools import partial
from itertools import count
from types import SimpleNamespace

from anonymize import ray_cluster
from anonymize.release.workers import carrier, plain, worker


class RayError(Exception):
    """As Ray's own."""


class Actor:
    """A carrier in this process, whose methods are called when their answers are waited for."""

    def __init__(self, ray, carrier):
        self.carrier, self.dead = carrier, False
        self.begin = SimpleNamespace(remote=lambda public: partial(carrier.begin, public))
        self.ask = SimpleNamespace(remote=lambda pieces: partial(ray.asked, self, pieces))


class StandIn:
    """Ray, as far as a pool uses it; the n-th question loses its node where ``loses(n)``."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, loses):
        self.numbers, self.loses, self.actors, self.seen = count(), loses, [], []

    def get(self, asked, timeout):
        return asked()

    def is_initialized(self):
        return True

    def kill(self, actor):
        actor.dead = True
        if actor.carrier._worker is not None:
            actor.carrier._worker.end()

    def remote(self, **options):
        return lambda kind: SimpleNamespace(remote=lambda *given: self.actor(kind(*given)))

    def actor(self, carrier):
        self.actors.append(Actor(self, carrier))
        return self.actors[-1]

    def asked(self, actor, pieces):
        self.seen.append(pieces)
        if actor.dead or self.loses(next(self.numbers)):
            self.kill(actor)
            raise RayError
        return actor.carrier.ask(pieces)


class Here:
    """A worker without a process."""

    def __init__(self, limits):
        self.limits = limits

    def exchange(self, parts):
        function, arguments = pickle.loads(parts[0], buffers=parts[1:])
        return [bytearray(part) for part in plain.packed(worker.outcome(function, arguments))]

    def end(self):
        pass


def joined(monkeypatch, loses=lambda number: False, kind=Here):
    """The Ray that carries for every pool from then on."""
    ray = StandIn(loses)
    monkeypatch.setattr(carrier, "LocalWorker", kind)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(ray_cluster, "connected", lambda *given: nullcontext(ray))
    monkeypatch.setattr(ray_cluster, "require", lambda address: None)
    monkeypatch.setattr("anonymize.release.workers.worker_pool.START_PAUSES", ())
    return ray
