"""Programs of others: dcmtk's senders and archive, and Orthanc."""

import json
import os
import shutil
import socket
import subprocess
import urllib.request
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import dicom_specimens as dicom
from waited import until

DCMTK = ("storescu", "storescp", "echoscu", "dcmcjpeg")
ORTHANC = shutil.which("Orthanc")
DICOMWEB = Path("/usr/share/orthanc/plugins/libOrthancDicomWeb.so")


@cache
def dcmtk(name):
    """Where dcmtk's own program is, None if nowhere: pynetdicom installs others of these names."""
    for folder in os.get_exec_path():
        found = shutil.which(name, path=folder)
        if found and b"$dcmtk" in subprocess.run([found, "--version"], capture_output=True).stdout:
            return found
    return None


def call(program, *arguments):
    """What comes of a program of dcmtk."""
    command = [dcmtk(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def listening(process, port):
    """Waits until somebody listens there."""

    def heard():
        assert process.poll() is None, "it ended"
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    until(heard)


@contextmanager
def program(*command, ports):
    with subprocess.Popen(
        [*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            for port in ports:
                listening(process, port)
            yield process
        finally:
            process.kill()


@contextmanager
def archive(folder, port=None, *, tls=()):
    """dcmtk's ``storescp``; ``folder`` is where its files come to lie, the same if sent twice."""
    folder.mkdir(exist_ok=True)
    port = port or free_port()
    own = "-aet", "ARCHIVE", "+xa", *tls, "-od", folder, port
    with program(dcmtk("storescp"), *own, ports=[port]):
        yield SimpleNamespace(folder=folder, port=port, to=f"ARCHIVE@127.0.0.1:{port}")


@contextmanager
def orthanc(folder):
    """Orthanc with its DICOMweb; ``instances()`` gives the tags of what it holds."""
    folder.mkdir()
    http, port = free_port(), free_port()
    options = {
        "StorageDirectory": str(folder),
        "IndexDirectory": str(folder),
        "HttpPort": http,
        "DicomPort": port,
        "DicomAet": "ORTHANC",
        "DicomCheckCalledAet": True,
        "RemoteAccessAllowed": False,
        "Plugins": [str(DICOMWEB)],
    }
    (folder / "config.json").write_text(json.dumps(options))
    url = f"http://127.0.0.1:{http}"

    def asked(path):
        with urllib.request.urlopen(f"{url}{path}", timeout=60) as answer:
            return json.load(answer)

    def instances():
        return [asked(f"/instances/{i}/simplified-tags") for i in asked("/instances")]

    with program(ORTHANC, folder / "config.json", ports=[http, port]):
        yield SimpleNamespace(
            store=f"ORTHANC@127.0.0.1:{port}",
            stow=f"{url}/dicom-web/studies",
            instances=instances,
            version=asked("/system")["Version"],
        )


ARCHIVES = ("storescp", "orthanc-store", "orthanc-stow")


@contextmanager
def holding(kind, folder):
    """One of ARCHIVES: its name, where to send, and the SOP instance UIDs that it holds."""
    if kind == "storescp":
        with archive(folder) as theirs:
            stored = theirs.folder
            yield SimpleNamespace(
                name=kind,
                to=theirs.to,
                uids=lambda: {
                    dicom.opened(p.read_bytes()).SOPInstanceUID for p in stored.iterdir()
                },
            )
        return
    way = kind.partition("-")[2]
    with orthanc(folder) as theirs:
        yield SimpleNamespace(
            name=f"Orthanc {theirs.version}, {way.upper()}",
            to=getattr(theirs, way),
            uids=lambda: {one["SOPInstanceUID"] for one in theirs.instances()},
        )
