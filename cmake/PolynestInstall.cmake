# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The package that an installed tree offers to CMake and to pkg-config. Nothing
# in it names an absolute path of the tree, so that the tree can be moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Polynest)
install(EXPORT PolynestTargets NAMESPACE Polynest:: DESTINATION ${package_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/PolynestConfig.cmake.in
  ${PROJECT_BINARY_DIR}/PolynestConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# While the major version is 0, another minor version is not compatible.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/PolynestConfigVersion.cmake
  COMPATIBILITY ${compatibility})
install(FILES
  ${PROJECT_BINARY_DIR}/PolynestConfig.cmake
  ${PROJECT_BINARY_DIR}/PolynestConfigVersion.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH POLYNEST_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/polynest.pc.in
  ${PROJECT_BINARY_DIR}/polynest.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/polynest.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
