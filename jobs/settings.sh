# shellcheck shell=bash disable=SC2034
# What is swept, for all scripts of this folder. Change it here, or in the environment:
# MODEL=gpt2 DEVICES=2,3 COMPRESSION_RATES=2,5,10 jobs/sweep.sh

model=${MODEL:-vit-base-16}                         # a preset, or a Hugging Face folder
devices=${DEVICES:-2,3,4,6}                         # P
compression_rates=${COMPRESSION_RATES:-2,4,6,8,10}  # CR, of prism
rates=${RATES:-10Mbps,100Mbps,200Mbps,500Mbps,1000Mbps}  # links; - for the real one (native)
topology=${TOPOLOGY:-unicast}                       # broadcast, unicast or shared
threads=${THREADS:-2}                               # of one device
iterations=${ITERATIONS:-15}
warmup=${WARMUP:-2}
clock=${CLOCK:-emulated}  # devices take turns, so the cores may be fewer than P
baselines=${BASELINES:-with}  # the single device and Voltage: with, without, or only them
name=sweep-$(basename "$model")
result=${RESULT:-results/$name.jsonl}
thinwire=${THINWIRE:-build/release/src/cli/thinwire}

largest_devices() { tr , '\n' <<<"$devices" | sort -n | tail -1; }
