# What `cmake --install` puts where find_package(thinwire) finds it: the program and the rooms'
# libraries (declared with them), the public headers, and this package's description.

include(CMakePackageConfigHelpers)
set(thinwire_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/thinwire")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")
install(EXPORT thinwireTargets NAMESPACE thinwire:: DESTINATION "${thinwire_package_dir}")

write_basic_package_version_file("${PROJECT_BINARY_DIR}/thinwireConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/thinwireConfig.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/ThinwireDependencies.cmake"
              "${PROJECT_BINARY_DIR}/thinwireConfigVersion.cmake"
        DESTINATION "${thinwire_package_dir}")
