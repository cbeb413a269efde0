"""`faults`: break an implementation one behavior at a time, and demand that its check fails."""

import argparse
import functools
import textwrap
import time

from conformance import catalogue
from conformance.output import collected, nothing_selected, save, write
from conformance.proofs import Outcome, Proof, Proofs, gathered, missed, planted
from conformance.runner import Job
from conformance.selection import Selection


def command(options: argparse.Namespace) -> int:
    """Prove the selected checks, and print what was missed even if the run is interrupted."""
    behaviors = Selection(areas=tuple(options.area), keywords=tuple(options.k)).of(catalogue.load())
    job = Job(
        options.impl,
        tuple(behavior.id for behavior in behaviors),
        timeout=options.timeout,
        start_timeout=options.start_timeout or options.timeout,
        checks=options.checks,
        faults=options.faults,
        workers=options.n,
    )
    start = time.monotonic()
    found, code = collected([functools.partial(planted, job, others=options.others)])
    proofs = Proofs(
        job.implementation, gathered(found, job.loaded_checks()), time.monotonic() - start, complete=code == 0
    )
    if options.json is not None:
        save(options.json, proofs.to_json() + "\n")
    if not proofs.proofs and code == 0:
        return nothing_selected("nothing that has a planted fault is selected")
    write(render(proofs, others=options.others is not None))
    return code or proofs.exit_code()


def render(proofs: Proofs, *, others: bool = False) -> str:
    """Write what was missed, which other checks noticed if that was asked for, and the totals."""
    lines: list[str] = []
    if others:
        lines += [
            _wrapped(f"{proof.id:<11} ", ", ".join(proof.others) or "no other check fails") for proof in proofs.proofs
        ]
    for proof in missed(proofs.proofs):
        lines += [
            f"{proof.id:<11} missed: {proof.status.value:<8} {catalogue.load()[proof.id].title}",
            *_details(proof),
        ]
    totals = proofs.totals()
    counts = [
        f"{totals[outcome]} {outcome.value}"
        for outcome in Outcome
        if totals[outcome] or outcome is not Outcome.UNPROVED
    ]
    lines.append(f"{proofs.implementation}: {', '.join(counts)}")
    if not proofs.complete:
        lines.append("The run was not completed; this is what was done.")
    return "".join(f"{line}\n" for line in lines)


def _details(proof: Proof) -> list[str]:
    """Return the first lines of how the check ended instead of failing."""
    detail = next(result.detail for result in proof.results if result.status is proof.status)
    return [_wrapped("    ", line) for line in detail.splitlines()[:4]]


def _wrapped(start: str, text: str) -> str:
    return textwrap.fill(text, 80, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False)
