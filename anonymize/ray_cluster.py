"""Joining a Ray cluster, or starting one of this machine and this run alone (extra ray)."""

import os
import secrets
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

from anonymize.errors import UsageError

REACHED = 10.0  # seconds in which a cluster must be
MISSING = "--engine ray needs Ray: pip install 'anonymize-cxr[ray]'"
NO_CLUSTER = (
    "--address names no Ray cluster that can be joined; give auto or the HOST:PORT of one of which "
    "this machine is a node, with its Ray, its Python and its token; or leave --address out for a "
    "cluster on this machine alone"
)


class NoClusterError(Exception):
    """None can be started on this machine."""


def require(address: str | None) -> None:
    """Raises UsageError where Ray is not installed, or nobody listens at ``address``: Ray itself
    would try for minutes."""
    if find_spec("ray") is None:
        raise UsageError(MISSING)
    if address in (None, "auto"):
        return
    host, _, port = str(address).rpartition(":")
    try:
        socket.create_connection((host, int(port)), REACHED).close()
    except (OSError, ValueError, OverflowError):
        raise UsageError(NO_CLUSTER) from None


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """The module of Ray, joined to the cluster at ``address`` or to one of its own.

    Raises:
        UsageError: Ray is not installed, or no cluster answers.
        NoClusterError: one of its own cannot be started.
    """
    require(address)
    os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # a late call must not start a cluster
    with ExitStack() as stack:
        wanted: dict[str, Any] = {"address": address}
        if address is None:
            wanted = {**_alone(stack), "num_cpus": workers}
        import ray

        # Ray ends the process by SIGTERM; a release has its own way.
        main = threading.current_thread() is threading.main_thread()
        before = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(**wanted, configure_logging=False, log_to_driver=False)
        except Exception as error:
            if address is None:
                raise NoClusterError from error
            raise UsageError(NO_CLUSTER) from error
        finally:
            if main:
                signal.signal(signal.SIGTERM, before)
        stack.callback(ray.shutdown)
        yield ray


def _alone(stack: ExitStack) -> dict[str, Any]:
    """How a cluster is started that is this machine's and this run's alone."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # tells Ray's makers nothing
    # Its ports are open to the network: Ray asks for this there, unless it is told not to.
    os.environ.pop("RAY_AUTH_MODE", None)
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    folder = tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True)
    return {
        "address": "local",
        "include_dashboard": False,
        "_node_ip_address": "127.0.0.1",
        "_temp_dir": stack.enter_context(folder),
    }
