# Every dependency is a Debian package; a missing one is named, so that it can be installed.
# Included by the build, and by find_package(thinwire) of who uses what was installed.

# Ends a build, and lets a find_package(thinwire) fail.
macro(thinwire_missing text)
  if("${CMAKE_FIND_PACKAGE_NAME}" STREQUAL "thinwire")
    set(thinwire_FOUND FALSE)
    set(thinwire_NOT_FOUND_MESSAGE "${text}")
    return()
  endif()
  message(FATAL_ERROR "${text}")
endmacro()

# thinwire_require(<package> <debian package> [arguments of find_package])
macro(thinwire_require package debian_package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    thinwire_missing("${package} was not found. On Debian: apt-get install ${debian_package}")
  endif()
endmacro()

thinwire_require(OpenMP libgomp1 COMPONENTS CXX)
thinwire_require(MPI libopenmpi-dev COMPONENTS CXX)
thinwire_require(fmt libfmt-dev)
thinwire_require(spdlog libspdlog-dev)
thinwire_require(nlohmann_json nlohmann-json3-dev)
thinwire_require(Boost libboost-program-options-dev COMPONENTS program_options)
thinwire_require(Threads libc6-dev)

find_package(PkgConfig QUIET)
if(NOT PkgConfig_FOUND)
  thinwire_missing("pkg-config was not found. On Debian: apt-get install pkg-config")
endif()
pkg_check_modules(hwloc QUIET IMPORTED_TARGET hwloc)
if(NOT hwloc_FOUND)
  thinwire_missing("hwloc was not found. On Debian: apt-get install libhwloc-dev")
endif()

thinwire_require(JPEG libjpeg-dev)
thinwire_require(PNG libpng-dev)

# Debian's dnnl-config.cmake asks for OpenCL, which the CPU engine does not need.
find_path(DNNL_INCLUDE_DIR dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
if(NOT DNNL_INCLUDE_DIR OR NOT DNNL_LIBRARY)
  thinwire_missing("oneDNN was not found. On Debian: apt-get install libdnnl-dev")
endif()
if(NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION "${DNNL_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${DNNL_INCLUDE_DIR}")
endif()

# What follows is needed to build thinwire, not to use it.
if("${CMAKE_FIND_PACKAGE_NAME}" STREQUAL "thinwire")
  return()
endif()

if(THINWIRE_TESTS)
  thinwire_require(GTest libgtest-dev)
endif()
if(THINWIRE_BENCHMARKS)
  thinwire_require(benchmark libbenchmark-dev)
endif()
