"""Writes the rate traces beside this file: links as an edge device meets them, made, not measured.

usage: python3 experiments/traces/make.py [FOLDER]

Every trace is what an application gets (goodput), step by step, from few stated parameters: a
table of rates over signal strength, a signal that fades slowly (log-normal shadowing with an
exponential correlation, Gudmundson 1991), and now and then a second state (Gilbert-Elliott: times
in a state are exponential). The same parameters and seed give the same bytes. `thinwire run
--rate-trace FILE` takes them; they repeat after their last step.
"""

import random
import sys
from dataclasses import dataclass
from math import exp, sqrt
from pathlib import Path
from statistics import NormalDist

# Receivers' least power in dBm at which 802.11n has a rate, in bit/s: 20 MHz, one stream, long
# guard interval, MCS 0 to 7 (IEEE 802.11-2016, tables 19-23 and 19-27).
WIFI_RATES = [
    (-82, 6.5e6), (-79, 13e6), (-77, 19.5e6), (-74, 26e6),
    (-70, 39e6), (-66, 52e6), (-65, 58.5e6), (-64, 65e6),
]  # fmt: skip

# Bit/s/Hz of CQI 1 to 15 (3GPP TS 36.213, table 7.2.3-1) over the SINR in dB at which one block in
# ten is lost (the usual link-level curves), times ten resource blocks of 180 kHz, a fifth of a
# 10 MHz cell, of which reference signals and control leave three quarters.
LTE_HZ = 10 * 180e3 * 0.75
LTE_RATES = [
    (sinr_db, bit_per_s_hz * LTE_HZ)
    for sinr_db, bit_per_s_hz in [
        (-6.7, 0.1523), (-4.7, 0.2344), (-2.3, 0.3770), (0.2, 0.6016), (2.4, 0.8770),
        (4.3, 1.1758), (5.9, 1.4766), (8.1, 1.9141), (10.3, 2.4063), (11.7, 2.7305),
        (14.1, 3.3223), (16.3, 3.9023), (18.7, 4.5234), (21.0, 5.1152), (22.7, 5.5547),
    ]
]  # fmt: skip

# Sensitivity in dBm of common 802.15.4 radios at 2.4 GHz, whose one rate is 250 kbit/s.
ZIGBEE_RATES = [(-95, 250e3)]

# SF * bandwidth / 2^SF * 4/5 at 500 kHz over the SNR in dB that a demodulator needs (Semtech
# SX1276 data sheet, table 13): SF7 has 21.9 kbit/s.
LORA_RATES = [
    (-7.5 - 2.5 * (sf - 7), sf * 500e3 / 2**sf * 4 / 5) for sf in (12, 11, 10, 9, 8, 7)
]


@dataclass(frozen=True)
class State:
    """Comes after `apart_s` seconds in the mean, stays for `lasts_s`, leaves `share` of the rate."""

    what: str
    apart_s: float
    lasts_s: float
    share: float


@dataclass(frozen=True)
class Window:
    """Only the first `open_s` of every `period_s` seconds may be used."""

    what: str
    period_s: float
    open_s: float


@dataclass(frozen=True)
class Trace:
    """A signal of `mean` and `deviation` in dB that forgets itself within `correlation_s`, the
    (least signal, bit/s) that it is worth, `efficiency` of which the application gets."""

    name: str
    about: str
    seed: int
    step_s: float
    steps: int
    rates: list
    mean: float
    deviation: float
    correlation_s: float
    efficiency: float = 1.0
    state: State | None = None
    window: Window | None = None


# Chosen for devices in one room (wifi, zigbee), on the road (lte) and kilometres apart (lora).
TRACES = [
    Trace(
        "wifi", "802.11n, 20 MHz, one stream, among other stations", seed=1,
        step_s=0.05, steps=1200, rates=WIFI_RATES, mean=-70, deviation=5, correlation_s=2,
        efficiency=0.6,  # preambles, acknowledgements, back-off
        state=State("the channel is taken by other stations", 0.6, 0.15, 0.2),
    ),
    Trace(
        "lte", "LTE uplink, a fifth of a 10 MHz cell, at 10 m/s", seed=2,
        step_s=0.1, steps=1200, rates=LTE_RATES, mean=9, deviation=8, correlation_s=5,
        state=State("handover", 20, 0.1, 0),
    ),
    Trace(
        "zigbee", "802.15.4 at 250 kbit/s beside a Wi-Fi network", seed=3,
        step_s=0.05, steps=1200, rates=ZIGBEE_RATES, mean=-85, deviation=5, correlation_s=3,
        efficiency=0.6,  # acknowledged frames of 127 bytes, unslotted CSMA/CA
        state=State("Wi-Fi holds the channel: back-off and repetitions", 1.0, 0.4, 0.25),
    ),
    Trace(
        "lora", "LoRa, 500 kHz, spreading factor after the signal", seed=4,
        step_s=1, steps=600, rates=LORA_RATES, mean=-5, deviation=3, correlation_s=60,
    ),
    Trace(
        "lora-duty", "the link of lora.csv under a duty cycle of 10 %", seed=4,
        step_s=1, steps=600, rates=LORA_RATES, mean=-5, deviation=3, correlation_s=60,
        window=Window("the duty cycle of the EU's 869.4 to 869.65 MHz", 20, 2),
    ),
]  # fmt: skip


def rate_at(trace, signal):
    """Bit/s of a signal: of the best entry that it reaches, 0 below all."""
    return max((rate for least, rate in trace.rates if signal >= least), default=0.0)


def signals(trace, chance):
    """One a step, correlated, from the mean's distribution on."""
    keeps = exp(-trace.step_s / trace.correlation_s)
    normal = NormalDist()
    fading = normal.inv_cdf(chance.random())
    for _ in range(trace.steps):
        yield trace.mean + trace.deviation * fading
        fading = keeps * fading + sqrt(1 - keeps * keeps) * normal.inv_cdf(chance.random())


def shares(trace, chance):
    """One a step: of the rate, what the present state leaves."""
    is_second = False
    for _ in range(trace.steps):
        yield trace.state.share if trace.state and is_second else 1.0
        if trace.state:
            mean_s = trace.state.lasts_s if is_second else trace.state.apart_s
            if chance.random() < 1 - exp(-trace.step_s / mean_s):
                is_second = not is_second


def is_open(trace, step):
    window = trace.window
    return window is None or step * trace.step_s % window.period_s < window.open_s


def bits_per_second(trace):
    """One whole number a step."""
    fading, states = random.Random(2 * trace.seed), random.Random(2 * trace.seed + 1)
    return [
        round(rate_at(trace, signal) * trace.efficiency * share) if is_open(trace, step) else 0
        for step, (signal, share) in enumerate(
            zip(signals(trace, fading), shares(trace, states), strict=True)
        )
    ]


def heading(trace):
    """What the trace was made of."""
    lines = [
        f"{trace.about}: made by experiments/traces/make.py, seed {trace.seed}",
        f"signal {trace.mean:g} dB, deviation {trace.deviation:g} dB, "
        f"correlation {trace.correlation_s:g} s; efficiency {trace.efficiency:g}",
    ]
    if trace.state:
        state = trace.state
        lines.append(
            f"{state.what}: after {state.apart_s:g} s for {state.lasts_s:g} s in the mean, "
            f"{state.share:g} of the rate"
        )
    if trace.window:
        window = trace.window
        lines.append(f"{window.what}: {window.open_s:g} s of every {window.period_s:g} s")
    return [f"# {line}" for line in lines]


def text_of(trace):
    """The file. Steps of one rate are one line, but the last two are always there: the last line
    lasts as long as the one before it."""
    rates = bits_per_second(trace)
    lines = [*heading(trace), "time, rate"]
    for step, rate in enumerate(rates):
        if step == 0 or rate != rates[step - 1] or step >= len(rates) - 2:
            lines.append(f"{round(step * trace.step_s, 6):g} s, {rate} bps")
    return "\n".join(lines) + "\n"


def main(arguments):
    folder = Path(arguments[0]) if arguments else Path(__file__).parent
    for trace in TRACES:
        text = text_of(trace)
        (folder / f"{trace.name}.csv").write_text(text)
        rates = bits_per_second(trace)
        print(
            f"{trace.name}.csv: {len(text)} bytes, {trace.steps * trace.step_s:g} s, mean "
            f"{sum(rates) / len(rates) / 1e3:.4g} kbit/s, {min(rates) / 1e3:.4g} to "
            f"{max(rates) / 1e3:.4g}, down {100 * rates.count(0) / len(rates):.3g} %"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
