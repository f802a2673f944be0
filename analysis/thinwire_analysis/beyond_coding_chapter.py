"""The chapter about coded indices: its words, with the numbers from the records."""

import json
from pathlib import Path

import pandas as pd

from thinwire_analysis import palette
from thinwire_analysis.beyond_coding import (
    CODINGS,
    coding_frame,
    coding_ratios,
    coding_table,
)
from thinwire_analysis.beyond_contexts import contexts_table, contexts_text, load_contexts
from thinwire_analysis.beyond_frames import frames_text, lengths_table, load_frames, times_table
from thinwire_analysis.chapter import Chapter, sentence
from thinwire_analysis.errors import InputError
from thinwire_analysis.figures import panels
from thinwire_analysis.html_report.catalogue import Figure

def coding_chapter(tasks, folder):
    """A Chapter; None where no task has the part `coding`.

    folder: of the study, whose tasks have codebooks/*.info by `thinwire codebook info --json`
    """
    ratios = coding_ratios(coding_frame(tasks))
    if ratios.empty:
        return None
    table = coding_table(ratios)
    sizes = storage_table(tasks, Path(folder))
    contexts = load_contexts(tasks, Path(folder))
    frames = load_frames(tasks, Path(folder))
    title = "Bits a token, headers and padding included"
    figure = Figure(
        "coding", title,
        "Mean over the frames of the scored samples, other samples than those of the statistics. "
        "Predictions are the same under every coding.",
        lambda sheet: draw_bits(ratios, title, sheet), table,
    )  # fmt: skip
    by_exchange = Figure(
        "coding-exchanges", "Bits a token from exchange to exchange",
        "trace-b at its finest level, two devices; the first exchange has none before it, so that "
        "cross-layer coding codes it alone.",
        lambda sheet: draw_exchanges(ratios, "Bits a token from exchange to exchange", sheet),
        exchanges_table(ratios),
    )  # fmt: skip
    tables = [(title, table)]
    if len(sizes):
        tables.append(("What the tables take", sizes))
    if len(contexts):
        tables.append(("Contexts that pay, ideal bits a token", contexts_table(contexts)))
    if frames:
        tables.append(("Frames of few and of many tokens", lengths_table(frames)))
        tables.append(("Time of a frame, one thread", times_table(frames)))
    text = [_meaning(), _found(ratios), _short(ratios), frames_text(frames),
            _other_strategies(ratios), _storage(sizes), contexts_text(contexts)]  # fmt: skip
    return Chapter(
        "coding", "Fewer bits at the same answer", [part for part in text if part], tables,
        [figure, by_exchange], _lead(ratios),
    )  # fmt: skip


def _lead(ratios):
    two = _two_devices(ratios)
    two = two[two["cross-layer ratio"].notna()]
    if two.empty:
        return ""
    parts = [f"{r['cross-layer ratio']:.2f} on {r['task']} (K = {r['codewords']})"
             for r in two.to_dict("records")]  # fmt: skip
    return f"Cross-layer coding sends trace-b's answers in a part of the bits: {sentence(parts)}."


def storage_table(tasks, folder):
    """A row a codebook file: what codebooks, buffers and tables take, and the bits of an index that
    the tables expect at the finest level.
    """
    rows = []
    for task in tasks:
        for path in sorted((folder / task.name / "codebooks").glob("*.info")):
            try:
                rows.append({"task": task.name, "codebook": path.stem, **_storage_row(path)})
            except (ValueError, KeyError) as error:
                raise InputError(f"{path}: no `codebook info --json` ({error!r})") from error
    return pd.DataFrame(rows)


def _storage_row(path):
    info = json.loads(path.read_text(encoding="utf-8"))
    storage = info["storage"]
    tables, codebooks = storage["index_tables_bytes"], storage["codebooks_bytes"]
    bits = [r for r in info.get("index_bits", []) if r["codewords"] == info["codewords"]]
    later = [row["cross_layer"] for row in bits[1:]]
    return {
        "codebooks (kB)": f"{codebooks / 1e3:.0f}",
        "buffers (kB)": f"{storage['buffers_bytes'] / 1e3:.0f}",
        "tables (kB)": f"{tables / 1e3:.0f}",
        "tables / codebooks": f"{tables / codebooks:.3f}",
        "expected alone (bits)": _range([row["entropy"] for row in bits]),
        "given the one before": _range(later),
    }


def draw_bits(ratios, title, sheet):
    """A panel a task, a group of bars a point, a bar a coding."""
    tasks = list(dict.fromkeys(ratios.task))
    with panels(sheet, title, len(tasks), size=(4.8, 3.6), share_y=True) as axes:
        for axis, task in zip(axes, tasks):
            rows = ratios[ratios.task == task].reset_index(drop=True)
            for place, coding in enumerate(CODINGS):
                axis.bar(
                    rows.index + 0.27 * (place - 1), rows[coding], width=0.25, label=coding,
                    color=palette.SERIES[place],
                )  # fmt: skip
            names = [f"{r.strategy}\nP = {r.devices}\nK = {r.codewords}" for r in rows.itertuples()]
            axis.set_xticks(rows.index, names, fontsize=7)
            axis.set_title(f"{task}, {rows.tokens.iloc[0]:.3g} tokens", fontsize=10)
            axis.grid(axis="y", alpha=0.3)
        axes[0].set_ylabel("bits of a token in its frame")


def draw_exchanges(ratios, title, sheet):
    """A panel a task with a curve a codebook and coding: trace-b on two devices."""
    rows = _two_devices(ratios)
    tasks = list(dict.fromkeys(rows.task))
    with panels(sheet, title, len(tasks), size=(4.2, 3.4), share_y=True) as axes:
        for axis, task in zip(axes, tasks):
            for line, row in zip(("-", "--", ":"), rows[rows.task == task].itertuples()):
                for place, coding in enumerate(CODINGS):
                    bits = row.by_exchange.get(coding, [])
                    axis.plot(
                        range(len(bits)), bits, color=palette.SERIES[place], linestyle=line,
                        marker="o", markersize=3, linewidth=1.2,
                        label=f"{coding}, K = {row.codewords}",
                    )  # fmt: skip
            axis.set_title(task, fontsize=10)
            axis.set_xlabel("exchange")
            axis.grid(alpha=0.3)
        axes[0].set_ylabel("bits of a token in its frame")
        axes[0].set_ylim(bottom=0)  # shared, so only after every panel has its curves


def exchanges_table(ratios):
    """What draw_exchanges shows."""
    return pd.DataFrame(
        [
            {"task": row.task, "K": row.codewords, "coding": coding, "exchange": place,
             "bits a token": "–" if bits is None else f"{bits:.3f}"}
            for row in _two_devices(ratios).itertuples()
            for coding in row.by_exchange
            for place, bits in enumerate(row.by_exchange[coding])
        ]
    )  # fmt: skip


def _two_devices(ratios):
    return ratios[(ratios.strategy == "trace-b") & (ratios.devices == 2)]


def _meaning():
    return (
        "TRACE and ASTRA send a token's codeword as a number of fixed width at every exchange, as "
        "if nothing were known of it. But a token's codeword at one exchange almost tells the next "
        "one, and every receiver has the one before. Coded by how often an index occurs (entropy) "
        "or by what usually follows the token's last index (cross-layer), with tables made from "
        "the calibration data and stored with the codebooks, the same indices arrive in fewer "
        "bits. Nothing else changes, neither codebooks nor arithmetic nor answers."
    )


def _found(ratios):
    """What the largest codebook of each task saves on two devices."""
    rows = _two_devices(ratios)
    parts = [
        f"{row.task} (K = {row.codewords}) {row.fixed:.2f} bits a token fixed, "
        f"{row.entropy:.2f} by entropy and {row.across:.2f} across layers, {row.ratio:.2f} of the "
        "fixed bits"
        for row in rows.rename(
            columns={"cross-layer": "across", "cross-layer ratio": "ratio"}
        ).itertuples()
    ]
    if not parts:
        return ""
    equal = [same for same in ratios.is_same if same is not None]
    return (
        f"trace-b on two devices, headers and padding counted, on samples that the statistics have "
        f"not seen: {'; '.join(parts)}. At {sum(equal)} of {len(equal)} points, all strategies "
        "together, every sample has the prediction that fixed indices give."
    )


def _short(ratios):
    """How frames of a few tokens fare, against those of the same inputs on fewer devices."""
    rows = ratios[(ratios.strategy == "trace-b") & ratios["cross-layer ratio"].notna()]
    if len(rows) < 2:
        return ""
    rows = rows.assign(frame_tokens=rows.tokens / rows.devices)
    shortest = rows.loc[rows.frame_tokens.idxmin()]
    same = rows[(rows.task == shortest.task) & (rows.codewords == shortest.codewords)]
    longest = same.loc[same.frame_tokens.idxmax()]
    return (
        f"A frame pays a byte of header and ends on a whole byte, which short frames feel: of "
        f"{shortest.task} (K = {shortest.codewords}) with {shortest.frame_tokens:.1f} tokens a "
        f"frame (P = {shortest.devices}) cross-layer coding takes {shortest['cross-layer ratio']:.2f} "
        f"of the fixed bits, with {longest.frame_tokens:.1f} (P = {longest.devices}) "
        f"{longest['cross-layer ratio']:.2f}. A frame that would come out longer than "
        "the fixed one is sent as the fixed one, so that the "
        "worst case is bounded."
    )


def _other_strategies(ratios):
    others = ratios[(ratios.strategy != "trace-b") & ratios["cross-layer ratio"].notna()]
    if others.empty:
        return ""
    listed = sentence(
        f"{strategy} {_range(list(part['cross-layer ratio']))}"
        for strategy, part in others.groupby("strategy", sort=False)
    )
    return (
        f"Of the other strategies cross-layer coding leaves {listed} of the fixed bits. ASTRA "
        "sends 16 bits an index as its paper does, so that a part of what it saves is padding "
        "that `--index-bits packed` takes away without tables."
    ) + _worse_than_entropy(ratios)


def _worse_than_entropy(ratios):
    worse = ratios[ratios["cross-layer"] > ratios.entropy]
    if worse.empty:
        return ""
    places = sentence(
        f"{row.strategy} on {row.task} (P = {row.devices}, K = {row.codewords})"
        for row in worse.itertuples()
    )
    return f" Coded alone, indices take fewer bits than across layers for {places}."


def _storage(sizes):
    if sizes.empty:
        return "No `codebook info` is beside the codebooks, so the tables' size is not known here."
    parts = sizes["tables / codebooks"].astype(float)
    return (
        f"The tables take {parts.min():.2f} to {parts.max():.2f} of what the codebooks themselves "
        f"take, {sizes['tables (kB)'].astype(float).min():.0f} to "
        f"{sizes['tables (kB)'].astype(float).max():.0f} kB a file with all levels."
    )


def _range(values):
    if not values:
        return "–"
    low, high = min(values), max(values)
    return f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
