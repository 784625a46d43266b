# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts in place: the program and its other names, plug-ins, the library with its
# headers, CMake package and pkg-config file, manual pages and completion for shells. All of it finds its parts relative to itself, so the whole
# tree may be moved. Destinations are fixed, since program and library look for plug-ins in ../lib/plumb.
set(CMAKE_INSTALL_RPATH "$ORIGIN")

# The library that others link: the objects of plumb_core, of which only what include/plumb/ declares can
# be seen. The program does not use it: it would cost its start.
add_library(plumbline SHARED $<TARGET_OBJECTS:plumb_core> $<TARGET_OBJECTS:plumb_cold>
  $<TARGET_OBJECTS:plumb_kernel>)
target_link_libraries(plumbline PRIVATE $<TARGET_PROPERTY:plumb_core,LINK_LIBRARIES>)
target_include_directories(plumbline INTERFACE $<INSTALL_INTERFACE:include>)
target_compile_features(plumbline INTERFACE cxx_std_20)
set_target_properties(plumbline PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# Libraries beside it come first; a package for one distribution has none there.
foreach(program plumb plumb_worker)
  set_property(TARGET ${program} PROPERTY INSTALL_RPATH "$ORIGIN" "$ORIGIN/../lib" "$ORIGIN/../../lib")
endforeach()
install(TARGETS plumb RUNTIME DESTINATION bin)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
foreach(name msaccucmp msprobe)  # the program does as its name says
  file(CREATE_LINK plumb ${CMAKE_BINARY_DIR}/bin/${name} SYMBOLIC)
  install(FILES ${CMAKE_BINARY_DIR}/bin/${name} DESTINATION bin)
endforeach()
foreach(plugin plumb_hdf5 plumb_image plumb_mpi plumb_onnxruntime plumb_opencv)
  if(TARGET ${plugin})
    set_property(TARGET ${plugin} PROPERTY INSTALL_RPATH "$ORIGIN" "$ORIGIN/..")
    install(TARGETS ${plugin} LIBRARY DESTINATION lib/plumb)
  endif()
endforeach()
if(TARGET plumb_onnxruntime AND onnxruntime_fetched)
  file(REAL_PATH ${onnxruntime_fetched} library)
  install(PROGRAMS ${library} DESTINATION lib/plumb RENAME libonnxruntime.so.1)
  install(FILES third_party/onnxruntime/share/doc/onnxruntime.copyright
    DESTINATION share/doc/plumbline OPTIONAL)
endif()
install(FILES LICENSE DESTINATION share/doc/plumbline RENAME copyright)
install(FILES CHANGELOG.md DESTINATION share/doc/plumbline)
install(FILES examples/models/digits.onnx examples/models/digits.prototxt examples/models/digits.caffemodel
  DESTINATION share/doc/plumbline/examples)
# The program knows its commands and options best.
install(CODE [[
  set(share $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share)
  foreach(what bash:bash-completion/completions zsh:zsh/site-functions fish:fish/vendor_completions.d man:man/man1)
    string(REPLACE ":" ";" what ${what})
    list(POP_FRONT what shell place)
    execute_process(COMMAND $<TARGET_FILE:plumb> completion ${shell} -o ${share}/${place}
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  foreach(name msaccucmp msprobe)
    file(CREATE_LINK plumb ${share}/bash-completion/completions/${name} SYMBOLIC)
  endforeach()
]])
foreach(program make_example_dump make_offline_example)
  set_property(TARGET ${program} PROPERTY INSTALL_RPATH "$ORIGIN/../../lib")
endforeach()
install(TARGETS plumb_worker make_example_dump make_offline_example RUNTIME DESTINATION libexec/plumbline)

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

include(cmake/package.cmake)
