# How rooms and tests are declared. Flags belong to targets; nothing is set globally.

add_library(thinwire_warnings INTERFACE)
target_compile_options(thinwire_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers $<$<BOOL:${THINWIRE_WERROR}>:-Werror>) # designated initializers leave defaults out

include(GNUInstallDirs)

# thinwire_add_room(<room> SOURCES <files> [LINKS <targets>] [PRIVATE_LINKS <targets>])
# One static library thinwire::<room>, here and where it is installed; LINKS are the rooms its
# headers may include.
function(thinwire_add_room room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(thinwire_${room} STATIC ${ARG_SOURCES})
  add_library(thinwire::${room} ALIAS thinwire_${room})
  target_compile_features(thinwire_${room} PUBLIC cxx_std_20)
  target_include_directories(thinwire_${room} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(thinwire_${room} PUBLIC ${ARG_LINKS}
                        PRIVATE $<BUILD_INTERFACE:thinwire_warnings> ${ARG_PRIVATE_LINKS})
  set_target_properties(thinwire_${room} PROPERTIES EXPORT_NAME ${room})
  install(TARGETS thinwire_${room} EXPORT thinwireTargets)
endfunction()

# thinwire_add_test(<name> SOURCES <files> [LINKS <targets>] [RANKS <counts>] [TIMEOUT <seconds>])
# A GoogleTest program <name>. Without RANKS it runs once, without MPI; with RANKS it runs under
# mpirun once a count, and its main (tests/support/mpi_main.cpp) reduces the verdict over the ranks.
function(thinwire_add_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINKS;RANKS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_compile_features(${name} PRIVATE cxx_std_20)
  # The tests themselves need no speed; compiling them is a third of a build.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE
    THINWIRE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    THINWIRE_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared")
  target_link_libraries(${name} PRIVATE thinwire_warnings GTest::gtest ${ARG_LINKS})
  if(ARG_RANKS)
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp")
    target_link_libraries(${name} PRIVATE MPI::MPI_CXX)
    foreach(ranks IN LISTS ARG_RANKS)
      add_test(NAME ${name}.ranks${ranks}
        COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks} $<TARGET_FILE:${name}>)
      set_tests_properties(${name}.ranks${ranks} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS mpi
        ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMP_NUM_THREADS=1;GOMP_SPINCOUNT=1000;OMPI_MCA_mpi_yield_when_idle=1")
    endforeach()
  else()
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT}
      ENVIRONMENT "OMP_NUM_THREADS=2;GOMP_SPINCOUNT=1000")
  endif()
endfunction()
