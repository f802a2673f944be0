# usage: throwing_rank.sh MPIRUN PROGRAM [overlapped]
mpirun=$1
shift
output=$("$mpirun" --oversubscribe --bind-to none -n 3 "$@" 2>&1)
status=$?
echo "$output"
test "$status" -eq 7 || { echo "status $status instead of 7"; exit 1; }
echo "$output" | grep -q "rank 1: fails on purpose" || { echo "message missing"; exit 1; }
