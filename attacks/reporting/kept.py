"""What a report needs beside results.json, so that `attacks report` builds it without computing.

``pictures.npz`` holds radiographs and is for its owner alone (0600): uint8 images, displacements in
pixels as float16, pairs and guesses as JSON; larger pictures are made smaller. ``draws.npz`` holds
no image: every attack's AUC of each run, and its values over the draws of patients, for paired
differences. Methods are numbered as in results.json; nothing in the files is a pickle.
"""

import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from anonymize import whole_file
from anonymize.errors import DataError
from anonymize.statistics import Measured
from attacks.evaluation.evaluate import Evaluation, Runs
from attacks.measuring.extremes import Extreme, Guess, GuessPictures, PairPictures
from attacks.measuring.matching import PREFIX as MATCHED
from attacks.reporting.harmless import harmless_record
from attacks.results import Results

PICTURES, DRAWS = "pictures.npz", "draws.npz"
PRIVATE = 0o600
LARGEST = 512  # pixels of a side: what a report can show
DAMAGE = (
    *(OSError, ValueError, TypeError, EOFError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)
AUCS = ("auc", f"{MATCHED}auc")
Arrays = dict[str, np.ndarray]


def keep_private(path: Path) -> None:
    """Makes the file its owner's alone, before there is anything to see in it."""
    path.touch(PRIVATE)
    path.chmod(PRIVATE)


def write_kept(evaluation: Evaluation, folder: Path) -> list[str]:
    """Writes pictures.npz and draws.npz, each where there is something for it; their names."""
    pictures, draws = _pictures(evaluation), _draws(evaluation)
    kept = {PICTURES: (pictures, PRIVATE), DRAWS: (draws, 0o666)}
    for name, (arrays, mode) in kept.items():
        if arrays:
            _write(folder / name, arrays, mode)
    return [name for name, (arrays, _) in kept.items() if arrays]


def read_kept(results: Results, folder: Path) -> Evaluation:
    """The results with the pictures and draws that lie beside them, as far as they do. Raises
    DataError: a file there is no such one, or of other results."""
    titles = results.titles()
    pictures, draws = (_read(folder / name) for name in (PICTURES, DRAWS))
    try:
        found = Evaluation(
            results,
            {t: _image(pictures[f"{n}/images"]) for n, t in _having(titles, pictures, "images")},
            {
                t: torch.from_numpy(pictures[f"{n}/displacement"].astype(np.float32))
                for n, t in _having(titles, pictures, "displacement")
            },
            {t: _pairs(pictures, n) for n, t in _having(titles, pictures, "pairs")},
            _runs(results, draws),
        )
        _refuse_others(found)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise DataError(
            f"{PICTURES} or {DRAWS} beside results.json is of other results, or damaged; remove it "
            "and the report is built without, or run the same attacks evaluate again"
        ) from None
    return found


def _refuse_others(found: Evaluation) -> None:
    """ValueError where pictures are of different shapes."""
    shapes = {(len(images), *images.shape[2:]) for images in found.images.values()}
    shapes |= {(len(moved), *moved.shape[2:]) for moved in found.displacements.values()}
    if len(shapes) > 1 or any(images.ndim != 4 for images in found.images.values()):
        raise ValueError("pictures of different shapes")


def _pictures(evaluation: Evaluation) -> Arrays:
    found: Arrays = {}
    for n, title in enumerate(evaluation.results.titles()):
        if title in evaluation.images:
            found[f"{n}/images"] = _levels(evaluation.images[title])
        if title in evaluation.displacements:
            moved = _smaller(evaluation.displacements[title])
            found[f"{n}/displacement"] = moved.numpy().astype(np.float16)
        if (pairs := evaluation.pairs.get(title)) is None:
            continue
        said: dict[str, Any] = {"attacker": pairs.attacker, "pairs": list(map(asdict, pairs.pairs))}
        found[f"{n}/probes"], found[f"{n}/gallery"] = map(_levels, (pairs.probes, pairs.gallery))
        if pairs.guesses is not None:
            said["guesses"] = list(map(asdict, pairs.guesses.guesses))
            found[f"{n}/asked"] = _levels(pairs.guesses.probes)
            found[f"{n}/answers"] = _levels(pairs.guesses.gallery)
        found[f"{n}/pairs"] = np.array(json.dumps(said))
    return found


def _pairs(pictures: Arrays, n: int) -> PairPictures:
    said = json.loads(str(pictures[f"{n}/pairs"]))
    guesses = None
    if "guesses" in said:
        asked, answers = _image(pictures[f"{n}/asked"]), _image(pictures[f"{n}/answers"])
        guesses = GuessPictures([Guess(**one) for one in said["guesses"]], asked, answers)
    probes, gallery = _image(pictures[f"{n}/probes"]), _image(pictures[f"{n}/gallery"])
    pairs = [Extreme(**one) for one in said["pairs"]]
    if len({len(pairs), len(probes), len(gallery)}) > 1:
        raise ValueError("pairs without pictures")
    return PairPictures(str(said["attacker"]), pairs, probes, gallery, guesses)


def _draws(evaluation: Evaluation) -> Arrays:
    found: Arrays = {}
    attackers = evaluation.results.attackers
    for n, title in enumerate(evaluation.results.titles()):
        for name, runs in evaluation.runs.get(title, {}).items():
            for r, reading in enumerate(AUCS):
                known = [run[reading] for run in runs if reading in run]
                if known:
                    place = f"{n}/{attackers.index(name)}/{r}"
                    found[place] = np.stack([one.draws for one in known]).astype(np.float32)
                    found[f"{place}/of"] = np.array([(one.value, one.patients) for one in known])
    return found


def _runs(results: Results, draws: Arrays) -> dict[str, Runs]:
    found: dict[str, Runs] = {}
    for n, (title, method) in enumerate(results.titled):
        by_attacker: dict[str, list[dict[str, Measured]]] = {}
        for k, name in enumerate(results.attackers):
            if name not in method.privacy:
                continue
            for r, reading in enumerate(AUCS):
                if (place := f"{n}/{k}/{r}") not in draws:
                    continue
                values, kept = draws[f"{place}/of"], draws[place].astype(float)
                runs = by_attacker.setdefault(name, [{} for _ in values])
                for run, (value, patients), one in zip(runs, values, kept, strict=True):
                    run[reading] = Measured(float(value), one, float(patients))
        if by_attacker:
            found[title] = by_attacker
    return found


def _having(titles: list[str], arrays: Mapping[str, Any], what: str) -> list[tuple[int, str]]:
    return [(n, title) for n, title in enumerate(titles) if f"{n}/{what}" in arrays]


def _smaller(images: Tensor) -> Tensor:
    """(…, H, W) with sides of ``LARGEST`` pixels at most."""
    values = images.detach().cpu().float()
    factor = LARGEST / max(values.shape[-2:])
    if factor >= 1:
        return values
    flat = values.reshape(-1, 1, *values.shape[-2:])
    shrunk = interpolate(flat, scale_factor=factor, mode="area")
    return shrunk.reshape(*values.shape[:-2], *shrunk.shape[-2:])


def _levels(images: Tensor) -> np.ndarray:
    """256 levels and one more row: 255 where the picture is NaN (nothing released), else 0."""
    values = _smaller(images).numpy()
    absent = np.isnan(values).all(axis=(-1, -2), keepdims=True)
    mark = np.where(absent, 255, 0) * np.ones((*values.shape[:-2], 1, values.shape[-1]))
    whole = np.concatenate([np.nan_to_num(values).clip(0, 1) * 255, mark], axis=-2)
    return np.round(whole).astype(np.uint8)


def _image(levels: np.ndarray) -> Tensor:
    if levels.dtype != np.uint8:
        raise ValueError("no images")
    values = torch.from_numpy(levels[..., :-1, :].astype(np.float32) / 255)
    values[torch.from_numpy(levels[..., -1, 0] == 255)] = torch.nan
    return values


def _write(path: Path, arrays: Arrays, mode: int) -> None:
    with whole_file.replacing(path) as temporary:
        whole_file.create(temporary, b"", mode)
        with temporary.open("wb") as file, zipfile.ZipFile(file, "w") as kept:
            for name, array in arrays.items():  # np.savez dates its members
                with kept.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)


def _read(path: Path) -> Arrays:
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            if sum(member.file_size for member in kept.zip.infolist()) > path.stat().st_size:
                raise ValueError("more than the file holds: ours are not compressed")
            return dict(kept)
    except DAMAGE:
        raise DataError(
            f"{path.name} beside results.json cannot be read; remove it, and the report is built "
            "without its pictures"
        ) from None


def harmless_evaluation(evaluation: Evaluation) -> Evaluation:
    """The same with every name in it harmless."""
    results = harmless_record(evaluation.results)
    if results is evaluation.results:
        return evaluation
    new = dict(zip(evaluation.results.titles(), results.titles(), strict=True))
    of_methods = {key: held for key, held in vars(evaluation).items() if key != "results"}
    renamed = {key: {new[t]: one for t, one in held.items()} for key, held in of_methods.items()}
    return Evaluation(results, **renamed)
