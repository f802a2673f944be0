# Sourced by scripts of experiments/. Expects the working directory to be the repository's root.

# build_program VARIABLE TARGET FILE: sets the variable, unless it is set, to the file of the release
# build, which is built where it is missing.
build_program() {
  [ -z "${!1:-}" ] || return 0
  if [ ! -x "build/release/$3" ]; then
    cmake --preset release >&2
    cmake --build --preset release --target "$2" >&2
  fi
  printf -v "$1" %s "build/release/$3"
}
