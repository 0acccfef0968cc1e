"""The data of the page: the arms, why each is excluded, and proofs for as many as fit."""

from __future__ import annotations

import shlex
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import CANDIDATE, NAMES, reasons_of
from lsdt.errors import counted
from lsdt.plotting import line_form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet, Explanation

# Chosen by eye: these limits keep the page small enough to open, and quick to make.
MOST_LISTED = 20_000  # arms on the page; beyond that, only candidates and arms with a proof
MOST_PROOFS = 2_000
_MOST_CANDIDATES = 5_000  # candidates listed if there are more than `MOST_LISTED` arms
_PATIENCE = 20.0  # seconds for explaining arms
_MOST_RELATIONS = 60  # shown per proof; the rest are counted
_MOST_TEXT = 4_000  # characters shown per proof
_BINS = 60  # of the density


def page_content(
    found: CandidateSet,
    *,
    source: str = "",
    most_proofs: int = MOST_PROOFS,
    patience: float = _PATIENCE,
) -> dict[str, Any]:
    """Return the data of the page, ready for JSON.

    Parameters
    ----------
    found : CandidateSet
        The answer to show.
    source : str
        The arguments of `lsdt candidates`, for commands that print the proofs that are not on the page.
    most_proofs : int
        How many arms to explain. Excluded arms whose reason is already known come first, then those whose
        reason has to be derived, then candidates.
    patience : float
        Seconds after which no further arm is explained.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.explorer import page_content
    >>> content = page_content(lsdt.candidate_set(lsdt.SideInformation(3, [(0, 1), (1, 2)], [(0, 2)])))
    >>> content["candidates"], content["proofs"]["1"]["relations"]
    ([0, 2], [[1, 0, 'similar'], [1, 2, 'similar'], [0, 2, 'dissimilar']])
    """
    side, reasons = found.side, reasons_of(found)
    form = line_form(found)
    proofs = _proofs(found, _by_effort(reasons.kinds, reasons.at_hand)[:most_proofs], patience)
    listed = _listed(found, proofs)
    span = float(np.ptp(form.x)) or 1.0
    low = float(form.x.min())
    return {
        "n_arms": side.n_arms,
        "summary": f"{len(found):,} of {counted(side.n_arms, 'arm')} {found.claim}",
        "about": _about(found),
        "notes": list(found.notes),
        "arms": listed.tolist(),
        "names": [side.show(arm) for arm in listed.tolist()],
        "kinds": reasons.kinds[listed].tolist(),
        "kind_names": [f"{found.claim}", *NAMES[1:]],
        "kind_counts": np.bincount(reasons.kinds, minlength=len(NAMES)).tolist(),
        "x": np.round((form.x[listed] - low) / span, 4).tolist(),
        "ends": [low, low + span],
        "xlabel": form.xlabel,
        "density": _density(form.x, reasons.kinds),
        "candidates": found.arms[: MOST_LISTED if side.n_arms <= MOST_LISTED else _MOST_CANDIDATES].tolist(),
        "proofs": {str(arm): proof for arm, proof in proofs.items()},
        "source": source,
        "commands": {str(arm): _command(found, source, arm) for arm in listed.tolist() if arm not in proofs}
        if source and side.n_arms <= MOST_LISTED
        else {},
    }


def _by_effort(kinds: NDArray[np.int64], at_hand: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the arms in the order in which they are explained, cheapest first."""
    effort = np.where(kinds == CANDIDATE, 2, np.where(at_hand, 0, 1))
    return np.argsort(effort, kind="stable")


def _proofs(found: CandidateSet, arms: NDArray[np.int64], patience: float) -> dict[int, dict[str, Any]]:
    end, proofs = perf_counter() + patience, {}
    for arm in arms.tolist():
        if perf_counter() > end:
            break
        proofs[arm] = _proof(found, found._explain(arm))
    return proofs


def _proof(found: CandidateSet, why: Explanation) -> dict[str, Any]:
    """Return an explanation as plain data, with arms as indices: its text, relations and steps."""
    index = found.side.index
    text = why.text if len(why.text) <= _MOST_TEXT else f"{why.text[:_MOST_TEXT]} …"
    relations: list[list[Any]] = []
    for relation in why.relations[:_MOST_RELATIONS]:
        row: list[Any] = list(relation)  # some have thresholds or ends after the relation
        relations.append([index(row[0]), index(row[1]), *row[2:]])
    steps = [
        {
            "kind": step.kind,
            "pair": [index(step.above), index(step.below)],
            "links": [[index(link.start), index(link.end)] for link in step.links],
        }
        for step in why.steps
    ]
    mentioned = sorted({arm for relation in relations for arm in relation[:2]})
    proof: dict[str, Any] = {"text": text, "relations": relations}
    if steps:
        proof["steps"] = steps
    if len(why.relations) > len(relations):
        proof["more"] = len(why.relations) - len(relations)
    if found.side.n_arms > MOST_LISTED:  # arms of a proof may be missing from the list
        proof["names"] = {str(arm): found.side.show(arm) for arm in mentioned}
    return proof


def _listed(found: CandidateSet, proofs: dict[int, dict[str, Any]]) -> NDArray[np.int64]:
    if found.side.n_arms <= MOST_LISTED:
        return np.arange(found.side.n_arms)
    return np.union1d(np.array(list(proofs), np.int64), found.arms[:_MOST_CANDIDATES])


def _density(x: NDArray[np.float64], kinds: NDArray[np.int64]) -> list[list[int]]:
    """Return how many arms of every kind lie in each part of the line."""
    ends = (float(x.min()), float(x.max()) if np.ptp(x) else float(x.min()) + 1.0)
    return [np.histogram(x[kinds == kind], _BINS, ends)[0].tolist() for kind in range(len(NAMES))]


def _about(found: CandidateSet) -> list[list[str]]:
    """Return rows (name, value) for display: what is known, and how the answer was found."""
    side = found.side
    known = counted(side.n_arms, "arm")
    if side.is_complete or not side.is_implicit:
        pairs = counted(side.n_similar, "similar pair"), counted(side.n_dissimilar, "dissimilar pair")
        known += f", {pairs[0]}, {pairs[1]}"
    if side.ranges is not None:
        known += side.ranges.in_words
    rows = [["known", f"{known} ({'complete' if side.is_complete else 'partial'})"]]
    if side.epsilon is not None:
        rows.append(["epsilon", f"{side.epsilon:g}"])
    rows.append(["method", found.method])
    stages = [f"{stage.name} {stage.excluded:,} of {stage.examined:,}" for stage in found.stages]
    return [*rows, ["excluded", ", ".join(stages)]] if stages and found.conflict is None else rows


def _command(found: CandidateSet, source: str, arm: int) -> str:
    return f"lsdt candidates {source} --explain={shlex.quote(str(found.side.label(arm)))}"
