# Sourced by tests/run.sh, experiments/reproduce.sh and accuracy.sh: installs what is missing and builds.
# Expects the working directory to be the root of the repository. Everything made here is in build/.

readonly venv="build/venv"
readonly python="$venv/bin/python"
readonly requirements=(analysis/requirements.txt experiments/prepare/requirements.txt)
readonly thinwire="build/release/src/cli/thinwire"

say() { printf '\n== %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Prints the packages of the lists that dpkg does not know as installed.
missing_packages() {
  local package
  cat "$@" | while read -r package; do
    case "$package" in '' | '#'*) continue ;; esac
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      printf '%s\n' "$package"
  done
}

# install_packages [list...]: of scripts/debian-packages.txt, or of the lists that are named
install_packages() {
  [ "$#" -gt 0 ] || set -- scripts/debian-packages.txt
  if ! command -v dpkg-query >/dev/null; then
    say "This is no Debian system: the packages of $* are taken as present"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if [ "${#missing[@]}" -eq 0 ]; then
    say "Debian packages: all present"
    return
  fi
  say "Debian packages: installing ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "as root, run: apt-get update && apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  # An unreachable source that none of these packages comes from must not stop the installation.
  "${as_root[@]}" apt-get update -q || echo "apt-get update failed; going on with the old lists" >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install: ${missing[*]}"
}

# The environment is made anew when requirements, interpreter or this folder's place changed.
make_python_environment() {
  local wanted
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
    die "Python 3.9 or later is needed"
  wanted="$(pwd) $(python3 --version) $(cat "${requirements[@]}")"
  if [ -x "$python" ] && [ "$(cat "$venv/made-for" 2>/dev/null)" = "$wanted" ]; then
    say "Python environment: $venv is up to date"
    return
  fi
  say "Python environment: making $venv from ${requirements[*]}"
  rm -rf "$venv"
  python3 -m venv "$venv" || die "python3 -m venv failed (Debian: apt-get install python3-venv)"
  "$python" -m pip install --quiet --disable-pip-version-check \
    "${requirements[@]/#/--requirement=}" ||
    die "pip could not install ${requirements[*]}"
  printf '%s\n' "$wanted" >"$venv/made-for"
}

build_release() {
  local options=()
  if command -v ccache >/dev/null; then
    options=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  say "Building the release preset"
  cmake --preset release "${options[@]}" || die "cmake could not configure the build"
  cmake --build --preset release || die "the build failed"
}
