# The installed package: include/retsu, one libretsu.a, and what find_package(retsu) reads.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# retsu_package(FOLDER LINKS library...): retsu::retsu, made of FOLDER and all folders below it. The libraries are
# linked, but not seen by whoever includes its headers; retsuConfig.cmake.in finds them.
function(retsu_package folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS")
  retsu_folders_below(${folder} folders)
  add_library(retsu_package STATIC)
  foreach(each IN LISTS folders)
    get_target_property(type retsu_${each} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      target_sources(retsu_package PRIVATE $<TARGET_OBJECTS:retsu_${each}>)
    endif()
  endforeach()
  add_library(retsu::retsu ALIAS retsu_package)
  set_target_properties(retsu_package PROPERTIES OUTPUT_NAME retsu EXPORT_NAME retsu LINKER_LANGUAGE CXX)
  target_compile_features(retsu_package INTERFACE cxx_std_20)
  target_include_directories(retsu_package INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(retsu_package PRIVATE ${arg_LINKS})

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/retsu)
  install(TARGETS retsu_package EXPORT retsuTargets ARCHIVE INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/retsu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT retsuTargets NAMESPACE retsu:: DESTINATION ${package_dir})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/retsuConfig.cmake.in retsuConfig.cmake
                                INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(retsuConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/retsuConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/retsuConfigVersion.cmake
          DESTINATION ${package_dir})
endfunction()
