# Writes `output` with the revision of `source`, only when it changed, so that nothing is rebuilt
# for nothing. Run at every build: cmake -Dsource=... -Doutput=... -P GitRevision.cmake
set(revision "unknown")
find_program(git git)
if(git)
  execute_process(COMMAND "${git}" -C "${source}" rev-parse --short=12 HEAD
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(revision "${head}")
    # --untracked-files=no: results and notes beside the sources are nobody's changes.
    execute_process(COMMAND "${git}" -C "${source}" status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      string(APPEND revision "-dirty")
    endif()
  endif()
endif()
set(text "#pragma once\n#define THINWIRE_GIT_REVISION \"${revision}\"\n")
set(old "")
if(EXISTS "${output}")
  file(READ "${output}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${output}" "${text}")
endif()
