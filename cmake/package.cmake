# SPDX-License-Identifier: Apache-2.0
#
# What scripts/package makes of an installation: a Debian package, which names the libraries it needs, and a
# tarball, which brings them.

# Of the tarball alone: what the program links, beside it. Libraries of the compiler and of the C library are the
# system's own; so is what HDF5, MPI and OpenCV, whose plug-ins are opened if they can be, bring along.
install(CODE [[
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES $<TARGET_FILE:plumb> $<TARGET_FILE:plumb_worker>
    RESOLVED_DEPENDENCIES_VAR found
    PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so" "^ld-linux")
  foreach(library ${found})
    cmake_path(GET library FILENAME name)  # as others ask for it
    file(REAL_PATH ${library} real)
    file(COPY_FILE ${real} $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/${name})
  endforeach()
]] COMPONENT bundle EXCLUDE_FROM_ALL)

set(CPACK_PACKAGE_NAME plumbline)
set(CPACK_PACKAGE_VENDOR "Plumbline developers")
# Whoever hands packages on puts an own address there; a name under .invalid never leads to somebody else.
set(PLUMB_MAINTAINER "Plumbline developers <developers@plumbline.invalid>" CACHE STRING "who answers for packages: a name and an address")
set(CPACK_PACKAGE_CONTACT "${PLUMB_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "does a converted neural network still compute the same thing?")
set(CPACK_PACKAGE_DESCRIPTION
"Plumbline (the command plumb) compares the tensors that a neural network
computes on two platforms, operator by operator, names the operator that
introduced an error, says why and what to do next. It reads what Ascend,
TorchAir, msprobe, Pulsar, ONNX, PyTorch and NumPy tools write.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# Read when a package is made, for each kind of package.
set(package_programs $<TARGET_FILE:plumb> $<TARGET_FILE:plumb_worker>)
foreach(plugin plumb_hdf5 plumb_image plumb_opencv)
  if(TARGET ${plugin})
    list(APPEND package_recommended $<TARGET_FILE:${plugin}>)
  endif()
endforeach()
if(TARGET plumb_mpi)
  set(package_suggested $<TARGET_FILE:plumb_mpi>)
endif()
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_BINARY_DIR}/generated/package_kinds.cmake)
configure_file(cmake/package_kinds.cmake.in ${CMAKE_BINARY_DIR}/generated/package_kinds.cmake.in @ONLY)
file(GENERATE OUTPUT ${CPACK_PROJECT_CONFIG_FILE} INPUT ${CMAKE_BINARY_DIR}/generated/package_kinds.cmake.in)
include(CPack)
