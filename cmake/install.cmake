# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts in place: the program and its other names, plug-ins, the library with its
# headers, CMake package and pkg-config file. All of it finds its parts relative to itself, so the whole
# tree may be moved. Destinations are fixed, since program and library look for plug-ins in ../lib/plumb.
set(CMAKE_INSTALL_RPATH "$ORIGIN")

# The library that others link: the objects of plumb_core, of which only what include/plumb/ declares can
# be seen. The program does not use it: it would cost its start.
add_library(plumbline SHARED $<TARGET_OBJECTS:plumb_core>)
target_link_libraries(plumbline PRIVATE $<TARGET_PROPERTY:plumb_core,LINK_LIBRARIES>)
target_include_directories(plumbline INTERFACE $<INSTALL_INTERFACE:include>)
target_compile_features(plumbline INTERFACE cxx_std_20)
set_target_properties(plumbline PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

install(TARGETS plumb RUNTIME DESTINATION bin)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
foreach(name msaccucmp msprobe)  # the program does as its name says
  file(CREATE_LINK plumb ${CMAKE_BINARY_DIR}/bin/${name} SYMBOLIC)
  install(FILES ${CMAKE_BINARY_DIR}/bin/${name} DESTINATION bin)
endforeach()
foreach(plugin plumb_hdf5 plumb_image plumb_onnxruntime plumb_opencv)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION lib/plumb)
  endif()
endforeach()
if(TARGET plumb_onnxruntime AND onnxruntime_fetched)
  file(REAL_PATH ${onnxruntime_fetched} library)
  install(PROGRAMS ${library} DESTINATION lib/plumb RENAME libonnxruntime.so.1)
  install(FILES third_party/onnxruntime/share/doc/onnxruntime.copyright
    DESTINATION share/doc/plumbline OPTIONAL)
endif()
install(TARGETS plumb_worker RUNTIME DESTINATION libexec/plumbline)

install(TARGETS plumbline EXPORT plumbline LIBRARY DESTINATION lib)
install(DIRECTORY include/plumb DESTINATION include FILES_MATCHING PATTERN *.h)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_BINARY_DIR}/generated/plumbline)
file(WRITE ${package}/plumblineConfig.cmake
  "include(\${CMAKE_CURRENT_LIST_DIR}/plumblineTargets.cmake)\n")
write_basic_package_version_file(${package}/plumblineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/plumbline.pc.in ${package}/plumbline.pc @ONLY)
install(EXPORT plumbline FILE plumblineTargets.cmake NAMESPACE plumbline:: DESTINATION lib/cmake/plumbline)
install(FILES ${package}/plumblineConfig.cmake ${package}/plumblineConfigVersion.cmake
  DESTINATION lib/cmake/plumbline)
install(FILES ${package}/plumbline.pc DESTINATION lib/pkgconfig)
