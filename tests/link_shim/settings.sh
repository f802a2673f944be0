# What the shim says to wrong settings, and with which status.
# usage: settings.sh MPIRUN LIBRARY PROGRAM
mpirun=$1 library=$2 program=$3

# expect STATUS TEXT ARGUMENTS_OF_MPIRUN...
expect() {
  status=$1 text=$2
  shift 2
  output=$("$mpirun" --oversubscribe --bind-to none -x LD_PRELOAD="$library" "$@" 2>&1)
  got=$?
  test "$got" -eq "$status" || { echo "$output"; echo "status $got instead of $status: $*"; exit 1; }
  test "$(echo "$output" | grep -c "^thinwire_link: $text")" -eq 1 || {
    echo "$output"
    echo "not once in it: $text"
    exit 1
  }
}
run="$program --gtest_filter=Message.Sendrecv*"

expect 2 "THINWIRE_RATE: rate=10 has no unit (write 10Mbps" -x THINWIRE_RATE=10 -n 2 $run
expect 2 "THINWIRE_TOPOLOGY: topology=unicats is unknown (did you mean unicast?)" \
  -x THINWIRE_RATE=10Mbps -x THINWIRE_TOPOLOGY=unicats -n 2 $run
expect 2 "rate 1 Mbps:2 Mbps:3 Mbps has 3 values for 2 devices" \
  -x THINWIRE_RATE=1Mbps:2Mbps:3Mbps -n 2 $run
expect 2 "the ranks have different THINWIRE_ variables" \
  -x THINWIRE_RATE=10Mbps -n 1 $run : -x LD_PRELOAD="$library" -x THINWIRE_RATE=1Mbps -n 1 $run
expect 0 "THINWIRE_RATE is not set, messages pass unshaped" -n 2 $run
# 28 bytes to the next rank, twice, are 896 bits; the sum of the verdicts goes round the ring: 64 bits.
expect 0 "100 Mbps, 1 ms, unicast: 2 ranks sent 4 messages and 1 collectives, 0.00096 Mbit" \
  -x THINWIRE_RATE=100Mbps -x THINWIRE_LATENCY=1ms -x THINWIRE_REPORT=1 -n 2 $run
