# Sourced by scripts of experiments/: reads options as a script's own header lists them. The header
# ends with the usage, from "# Usage:" on, in which each option begins a line:
#   --quick     what it is for, after two blanks or more
#   --json DIR  an option with a value

# usage <script>
usage() { sed -n '/^# Usage:/,/^[^#]/s/^# \{0,1\}//p' "$1"; }

# bad_usage <script> <what is wrong>
bad_usage() {
  printf 'error: %s\n' "$2" >&2
  usage "$1" >&2
  exit 2
}

# read_options <script> <argument>...: sets `quick` to yes after --quick, `json` to DIR after --json
# DIR; a variable whose option is not given stays as it is. --help ends the script.
read_options() {
  local script=$1 option value
  local -A value_of=()
  shift
  while read -r option value; do
    value_of[$option]=$value
  done < <(usage "$script" | sed -nE 's/^  (--[a-z]+)( [A-Z]+)?  .*/\1\2/p')
  while [ $# -gt 0 ]; do
    case "$1" in --help | -h) usage "$script" && exit 0 ;; esac
    value=${value_of[${1:- }]-unknown}
    case "$value" in
      unknown) bad_usage "$script" "unknown argument $1" ;;
      '') declare -g "${1#--}=yes" ;;
      *)
        [ -n "${2:-}" ] || bad_usage "$script" "$1 needs a value: $1 $value"
        declare -g "${1#--}=$2" && shift
        ;;
    esac
    shift
  done
}
