"""A set release from beginning to end: all is read and waits in the private folder, then the method
makes the outputs, and only then anything appears under OUT.

Once the first output may be there, inputs and groups stay as they are (:mod:`state`); the same call
goes on with the very same outputs.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from anonymize.errors import UsageError
from anonymize.release import storage
from anonymize.release.archives import Found
from anonymize.release.checking import verification
from anonymize.release.intake import TELLING_FINDING, Candidate, read_candidate
from anonymize.release.method import Method
from anonymize.release.options import Progress
from anonymize.release.places import CERTIFICATE, SIGNATURE, Places
from anonymize.release.preparation import Release
from anonymize.release.reasons import Reason, Refused
from anonymize.release.records import facts
from anonymize.release.records.facts import Facts
from anonymize.release.records.journal import BAD_JOURNAL
from anonymize.release.records.manifests import ManifestError
from anonymize.release.sets import certificate, measured, state
from anonymize.release.sets.certificate import Certificate
from anonymize.release.sets.mixing import Mixed, mixed
from anonymize.release.sets.outputs import stage
from anonymize.release.sets.spool import Spool
from anonymize.release.sets.state import State
from anonymize.release.sets.tables import SetTables
from anonymize.release.sets.whose import known
from anonymize.release.staging import publish
from anonymize.release.summary import Summary, of_reasons
from anonymize.release.workers.worker_pool import WorkerPool
from anonymize.set_anonymizer import SetAnonymizer

OTHER_INPUTS = (
    "IN is not what it was when its people were put together in OUT: a second release of the same "
    "people in other groups would give them away; choose another OUT, and hand on only one of them"
)
OTHER_CERTIFICATE = "certificate.json in OUT is of another version; choose another OUT"
OTHER_PLAN = (
    "the outputs that OUT holds a part of cannot be made again as they were; remove OUT and its "
    "private folder, and begin anew"
)


@dataclass
class Read:
    """What reading gave, by path: the sha256 of every file that may be a radiograph, those of them
    that were refused, and files that are no images."""

    digests: dict[str, str] = field(default_factory=dict)
    refused: dict[str, Refused] = field(default_factory=dict)
    left_out: dict[str, Refused] = field(default_factory=dict)


def release_set(
    release: Release, places: Places, model: SetAnonymizer, pool: WorkerPool, progress: Progress
) -> Summary:
    """Releases what ``model`` makes of all inputs together; ``places`` as the user named them.

    Raises:
        UsageError: other inputs than those that OUT was made of; nothing was touched.
        ModelError: the method breaks its contract; nothing of it is released.
        StorageError, WorkerPoolError: as :func:`pipeline.apply`.
    """
    options = release.options
    assert options.uniform is not None
    spool = Spool(release.places.private, options.uniform.size)
    begun = state.read(release.places.private)
    there = any(entry.files for entry in release.journal.entries)
    if there and begun is None:
        raise UsageError(BAD_JOURNAL)
    whole = begun is not None and there and _whole(begun, release)
    read = _read(release, spool, begun, pool, progress, whole=whole)
    if begun is not None and begun.digests != read.digests:
        if there:
            raise UsageError(OTHER_INPUTS)
        begun = None
    if whole and begun is not None:
        with storage.device_errors():
            spool.clear()
            if options.sign and not (release.places.out / SIGNATURE).is_file():
                facts.sign(release.places, release.naming)
        made = _certificate(release.places.out)
        summary = _summary(release, places, model, read.left_out, begun, made)
        return replace(summary, anonymized=0, already_done=begun.released)
    waiting = read.digests.keys() - read.refused.keys()
    images = [spool.image(found.path) for found in release.files if found.path in waiting]
    secret = release.naming.secret
    assert secret is not None  # this release is open
    who, unknown = known(images, options.people, secret)
    refused = {**read.refused, **unknown}
    found = mixed([i for i in images if i.path in who], who, spool, model, release)
    with storage.device_errors():
        begun = _settled(begun, found.plan, read, release, there=there)
    with storage.device_errors():
        signed = facts.begin(release.places) or options.sign
    _publish(found, spool, release, pool)
    told = SetTables(
        Method.of(model),
        options.uniform,
        _bare(found),
        _why(refused),
        _why(read.left_out),
        () if options.people is None else tuple(options.people.labels),
        begun,
        None if options.measured is None else measured.read(options.measured, model).model_dump(),
    )
    with storage.device_errors():
        Facts(told, str(release.naming.file), signed).publish(release.journal, release.naming)
        spool.clear()
        finished = state.read(release.places.private)
    assert finished is not None  # one of the tables
    made = told.certificate(release.journal)
    return _summary(release, places, model, read.left_out, finished, made)


def _bare(found: Mixed) -> Mixed:
    """``found`` without pictures, and without words of their files."""
    images = [replace(image, words=frozenset()) for image in found.images]
    return replace(found, images=images, gray=found.gray[:0])


def _why(refused: dict[str, Refused]) -> dict[str, tuple[str, str]]:
    return {path: (refusal.reason.value, refusal.detail) for path, refusal in refused.items()}


def _whole(begun: State, release: Release) -> bool:
    """True where nothing is left to do but to look whether the inputs are the same."""
    intact = all(map(release.journal.intact, release.journal.entries.released()))
    kept = facts.read(release.places.private)
    done = kept is not None and kept.finished
    return done and intact and begun.whole(release.places.out) and _as_measured(release)


def _as_measured(release: Release) -> bool:
    """Whether the certificate that is there says what was measured, if figures are given."""
    given = release.options.measured
    if given is None:
        return True
    return _certificate(release.places.out).measured == measured.read(given, release.model)


def _certificate(out: Path) -> Certificate:
    """The certificate in ``out``. Raises UsageError: it is of another version."""
    try:
        return certificate.read((out / CERTIFICATE).read_bytes())
    except ManifestError:
        raise UsageError(OTHER_CERTIFICATE) from None


def _read(
    release: Release,
    spool: Spool,
    begun: State | None,
    pool: WorkerPool,
    progress: Progress,
    *,
    whole: bool,
) -> Read:
    """Reads every file; those that can be released wait in ``spool``, but where ``whole``: then
    nothing is made, and nobody would take them away. Raises UsageError: a label of --patients tells
    a patient."""
    before = {} if begun is None else begun.inputs

    def known_before(path: str, sha256: str) -> bool:
        digest, reason, _ = before.get(path, ("", "", ""))
        settled = bool(digest) and digest == sha256 and (whole or bool(reason))
        return settled or spool.holds(path, sha256)

    options = release.options
    assert options.uniform is not None
    gray = replace(options, uniform=replace(options.uniform, format="png", bits=16))
    deep = replace(release, options=gray)
    reads = (partial(_candidate, found, deep, pool, known_before) for found in release.files)
    candidates = pool.in_order(
        reads,
        window=options.workers + options.batch_size,
        weight=lambda candidate: candidate.memory,
        most=options.limits.memory // 2,
    )
    read = Read()
    for number, candidate in enumerate(candidates, 1):
        _note(candidate, read, before, None if whole else spool)
        progress(number, len(release.files))
    if any(refusal.detail == TELLING_FINDING for refusal in read.refused.values()):
        raise UsageError(
            "--patients: the name of a label, which becomes public, says what a DICOM header knows "
            "of its patient; leave it out, or give it another name"
        )
    return read


def _candidate(
    found: Found, release: Release, pool: WorkerPool, known_before: Callable[[str, str], bool]
) -> Candidate:
    """A candidate whose picture was looked at again for text, as it will be mixed with others."""
    candidate = read_candidate(found, release, pool, known_before)
    if candidate.radiograph is None or not release.options.text.looks:
        return candidate
    try:
        pool.call(verification.look_again, candidate.radiograph, release.options.text)
    except Refused as refusal:
        return replace(candidate, radiograph=None, refusal=refusal)
    return candidate


def _note(
    candidate: Candidate, read: Read, before: dict[str, list[str]], spool: Spool | None
) -> None:
    refusal, path = candidate.refusal, candidate.path
    if refusal is not None and refusal.reason.left_out:
        read.left_out[path] = refusal
        return
    read.digests[path] = candidate.sha256
    digest, reason, detail = before.get(path, ("", "", ""))
    if candidate.done and digest == candidate.sha256 and reason:
        refusal = Refused(Reason(reason), detail)
    if refusal is not None:
        read.refused[path] = refusal
    elif spool is not None and not candidate.done:
        with storage.device_errors():
            spool.add(candidate)


def _settled(begun: State | None, plan: str, read: Read, release: Release, *, there: bool) -> State:
    """What the release is of, on the disk before anything appears. Raises UsageError: outputs of
    another plan are there."""
    if begun is not None and begun.plan == plan:
        return begun
    if there:
        raise UsageError(OTHER_PLAN)
    why = _why(read.refused)
    inputs = {path: [sha, *why.get(path, ("", ""))] for path, sha in read.digests.items()}
    made = State(inputs, plan)
    made.write(release.places.private)
    return made


def _publish(found: Mixed, spool: Spool, release: Release, pool: WorkerPool) -> None:
    """Takes every output to its place."""
    stages = (partial(stage, output, found, spool, release, pool) for output in found.outputs)
    for candidate, staged in pool.in_order(stages, window=release.options.workers):
        if staged is not None:
            publish(candidate, staged, release.journal)


def _summary(
    release: Release,
    places: Places,
    model: SetAnonymizer,
    left_out: dict[str, Refused],
    begun: State,
    made: Certificate,
) -> Summary:
    reasons = Counter(begun.reasons) + Counter(r.reason.value for r in left_out.values())
    return Summary(
        inputs=len(release.files),
        anonymized=begun.released,
        already_done=0,
        input_gone=0,
        **of_reasons(reasons),
        out=str(places.out),
        private=str(places.private),
        method=model.name,
        model_sha256=model.fingerprint,
        mu=model.mu,
        names="hashed",
        evidence=model.evidence,
        text=release.options.text.mode,
        cleaned=begun.cleaned,
        much_filled=begun.much_filled,
        together=made.model_dump(),
    )
