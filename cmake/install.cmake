# Installation: headers, and a package for find_package(syncopate).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/syncopate)
install(DIRECTORY include/syncopate DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp"
        PATTERN "compiled.cpp")
install(TARGETS syncopate EXPORT syncopate-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT syncopate-targets NAMESPACE syncopate:: DESTINATION ${package_dir})

configure_package_config_file(cmake/syncopate-config.cmake.in syncopate-config.cmake INSTALL_DESTINATION ${package_dir}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(syncopate-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/syncopate-config.cmake ${PROJECT_BINARY_DIR}/syncopate-config-version.cmake
        DESTINATION ${package_dir})
