# One library per folder of src/, by the table in layers.txt.

# Sets RETSU_FOLDERS, and RETSU_DEPS_<folder> for each of them.
function(retsu_read_layers file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} rows REGEX "^[a-z_]+:")
  set(folders)
  foreach(row IN LISTS rows)
    string(REGEX MATCH "^([a-z_]+): *(.*)$" _ "${row}")
    set(folder ${CMAKE_MATCH_1})
    separate_arguments(deps UNIX_COMMAND "${CMAKE_MATCH_2}")
    if(deps STREQUAL "*")
      set(deps ${folders})
    endif()
    set(RETSU_DEPS_${folder} ${deps} PARENT_SCOPE)
    list(APPEND folders ${folder})
  endforeach()
  set(RETSU_FOLDERS ${folders} PARENT_SCOPE)
endfunction()

# retsu_folders_below(NAME VARIABLE): sets VARIABLE to NAME and all folders that it may include.
function(retsu_folders_below name variable)
  set(found ${name})
  foreach(dep IN LISTS RETSU_DEPS_${name})
    retsu_folders_below(${dep} below)
    list(APPEND found ${below})
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# retsu_folder(NAME DEPS folder...): the library retsu_NAME (retsu::NAME) of src/NAME/**/*.cc, and the executable
# NAME_test of its *_test.cc. A folder without sources, or not there yet, is a library of nothing.
function(retsu_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/src/cli/main\\.cc$") # main.cc is the program, see CMakeLists.txt

  if(sources)
    add_library(retsu_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(retsu_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(retsu::${name} ALIAS retsu_${name})
  target_include_directories(retsu_${name} ${scope} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  list(TRANSFORM arg_DEPS PREPEND retsu::)
  target_link_libraries(retsu_${name} ${scope} ${arg_DEPS})

  if(tests AND NOT RETSU_FUZZ)
    retsu_test(${name}_test PREFIX ${name} SOURCES ${tests} LIBRARIES retsu::${name})
  endif()
endfunction()

# retsu_link(NAME library...): what a folder needs from outside.
function(retsu_link name)
  get_target_property(type retsu_${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(retsu_${name} INTERFACE ${ARGN})
  else()
    target_link_libraries(retsu_${name} PUBLIC ${ARGN})
  endif()
endfunction()

# retsu_together(target...): their files are compiled several at a time, if that is wanted. Names in unnamed namespaces of
# a folder must differ then. Targets that do not exist are passed over.
function(retsu_together)
  if(NOT RETSU_TOGETHER)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    endif()
  endforeach()
endfunction()

# retsu_precompile(HEADER target...): these share the precompiled cmake/HEADER.h. Targets that do not exist, or compile
# nothing, are passed over. The header is named without its folder, so that ccache finds it in any clone.
# After AS owner LINKS library... OPTIONS flag...: another variant of it, with the flags that its users have.
function(retsu_precompile header)
  if(NOT RETSU_PCH)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "AS" "LINKS;OPTIONS")
  set(owner retsu_${header})
  if(arg_AS)
    set(owner ${arg_AS})
  endif()
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${owner}.cc CONTENT "")
    add_library(${owner} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${owner}.cc)
    target_link_libraries(${owner} PRIVATE retsu_external ${arg_LINKS}) # same flags as its users, or it is not reused
    target_compile_options(${owner} PRIVATE ${arg_OPTIONS})
    target_include_directories(${owner} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/cmake)
    target_precompile_headers(${owner} PRIVATE <${header}.h>)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      target_compile_options(${owner} PRIVATE -Xclang -fno-pch-timestamp) # for ccache
    endif()
  endif()
  foreach(target IN LISTS arg_UNPARSED_ARGUMENTS)
    if(TARGET ${target})
      get_target_property(type ${target} TYPE)
      if(NOT type STREQUAL "INTERFACE_LIBRARY")
        target_precompile_headers(${target} REUSE_FROM ${owner})
      endif()
    endif()
  endforeach()
endfunction()
