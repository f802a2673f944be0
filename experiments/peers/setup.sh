# Sourced by throughput.sh and latency.sh: makes build/peers-venv. Expects the working directory to be
# the root of the repository.

readonly peers_venv="build/peers-venv"

# find_python MODULE...: sets PYTHON, unless it is set, to the environment's interpreter; fails when
# it lacks one of the modules.
find_python() {
  PYTHON="${PYTHON:-$peers_venv/bin/python}"
  local modules="$*"
  "$PYTHON" -c "import ${modules// /, }" 2>/dev/null
}

make_environment() {
  [ -x "$peers_venv/bin/python" ] || python3 -m venv "$peers_venv"
}

# install REQUIREMENT...: into the environment, quietly
install() { "$peers_venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
