"""What a comparison's seconds say: medians, spreads, ratios and verdicts."""

import statistics
from dataclasses import dataclass

OURS, OURS_FP32, CEILING = "thinwire", "thinwire-fp32", "ceiling"
ROUNDS_FOR_VERDICT = 15

# thinwire / best peer, by threads, thinwire / bare products, bf16 / fp32, each at most.
TO_PEERS = {("vit-base-16", 2): 0.97, ("bert-base", 2): 0.97, ("gpt2", 2): 0.95,
            ("vit-base-16", 1): 1.0, ("bert-base", 1): 1.0, ("gpt2", 1): 1.0}
TO_CEILING = {"vit-base-16": 1.05, "bert-base": 1.05, "gpt2": 1.08}
TO_FP32 = {("vit-base-16", 2): 1 / 1.6}


@dataclass(frozen=True)
class Summary:
    """Of one engine's seconds."""

    median: float
    tenth: float  # 10 % of the rounds are faster
    ninetieth: float
    lowest: float


def summarise(seconds):
    ordered = sorted(seconds)
    at = (len(ordered) - 1) / 10
    return Summary(statistics.median(ordered), ordered[round(at)], ordered[round(9 * at)],
                   ordered[0])


@dataclass(frozen=True)
class Verdict:
    """ratio: median of ours / median of theirs; lower and upper quartile of the rounds' ratios."""

    ratio: float
    quartiles: tuple
    against: str
    target: float  # None where nothing was asked for

    @property
    def holds(self):
        return self.target is None or self.ratio <= self.target

    def line(self):
        low, high = self.quartiles
        word = "    " if self.target is None else "pass" if self.holds else "FAIL"
        asked = "no target" if self.target is None else f"at most {self.target:.3g}"
        return (f"{word}  thinwire takes {self.ratio:.3f} of {self.against} "
                f"(rounds {low:.3f}..{high:.3f}; {asked})")


def compare(seconds, against, target, label=None):
    """Verdict on `seconds` ({name: a list of rounds}): ours against `against`."""
    rounds = sorted(ours / theirs for ours, theirs in zip(seconds[OURS], seconds[against]))
    quarter = (len(rounds) - 1) / 4
    ratio = statistics.median(seconds[OURS]) / statistics.median(seconds[against])
    return Verdict(ratio, (rounds[round(quarter)], rounds[round(3 * quarter)]), label or against,
                   target)


def best_peer(seconds):
    """Name of the peer with the smallest median; None without peers."""
    peers = [name for name in seconds if name not in (OURS, OURS_FP32, CEILING)]
    return min(peers, key=lambda name: statistics.median(seconds[name]), default=None)


def judge(model, threads, dtype, seconds):
    """The verdicts on one model: ours against the best peer, the bare products and our fp32, as far
    as they ran. What is asked for beside peers and products is asked for in fp32."""
    verdicts = []
    peer = best_peer(seconds)
    if peer is not None:
        target = TO_PEERS.get((model, threads)) if dtype == "fp32" else None
        verdicts.append(compare(seconds, peer, target, f"{peer}, the best peer"))
    if CEILING in seconds:
        verdicts.append(compare(seconds, CEILING, TO_CEILING.get(model),
                                "the bare matrix products"))
    if OURS_FP32 in seconds:
        verdicts.append(compare(seconds, OURS_FP32, TO_FP32.get((model, threads)),
                                "its own time in fp32"))
    return verdicts


def relative_difference(ours, theirs):
    """max |ours - theirs| / max |theirs|; infinite where the sizes differ or a value is no number."""
    if ours.size != theirs.size:
        return float("inf")
    difference = abs(ours - theirs).max() / abs(theirs).max()
    return float(difference) if difference == difference else float("inf")
