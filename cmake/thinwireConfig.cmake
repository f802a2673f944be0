# find_package(thinwire): targets thinwire::<room> (thinwire::cli has all of them behind it) and the
# program thinwire::thinwire.
set(thinwire_FOUND TRUE)
include("${CMAKE_CURRENT_LIST_DIR}/ThinwireDependencies.cmake")
if(thinwire_FOUND)
  include("${CMAKE_CURRENT_LIST_DIR}/thinwireTargets.cmake")
endif()
