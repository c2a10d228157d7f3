# Test executables. ctest names are PREFIX/Suite.Name, so `./dev test --filter '^engine/'` runs one folder.

include(GoogleTest)
set(RETSU_TEST_LIBRARIES GTest::gmock_main rapidcheck rapidcheck_gtest)
set(RETSU_COMPUTING_TESTS "^test_(random|simulation)$") # optimised; the others are not

# retsu_test(TARGET PREFIX p SOURCES ... LIBRARIES ...)
function(retsu_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX" "SOURCES;LIBRARIES")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} ${RETSU_TEST_LIBRARIES})
  # Most tests compute little themselves: building them fast matters more than running them fast.
  if(NOT target MATCHES "${RETSU_COMPUTING_TESTS}")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  gtest_discover_tests(
    ${target}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${arg_PREFIX}/"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES ENVIRONMENT "RETSU_BUILD_DIR=${PROJECT_BINARY_DIR}")
endfunction()

# retsu_tests(LIBRARIES ...): tests/DIR/**/*.cc is test_DIR, for every DIR. tests/*.cc and tests/reference are the library
# retsu_reference, which all the others link (its *_test.cc are test_reference). Fuzzers, *_fuzz.cc, are left out.
function(retsu_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "LIBRARIES")
  set(root ${PROJECT_SOURCE_DIR}/tests)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${root} ${root}/*.cc)
  list(FILTER files EXCLUDE REGEX "_fuzz\\.cc$")

  set(dirs)
  foreach(file IN LISTS files)
    if(file MATCHES "^(reference/.*|[^/]+)$" AND NOT file MATCHES "_test\\.cc$")
      list(APPEND reference ${root}/${file})
    elseif(file MATCHES "^([^/]+)/")
      list(APPEND dirs ${CMAKE_MATCH_1})
      list(APPEND sources_${CMAKE_MATCH_1} ${root}/${file})
    else()
      message(FATAL_ERROR "tests/${file} must be in a folder of tests/")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES dirs)

  if(reference)
    add_library(retsu_reference STATIC ${reference})
    target_include_directories(retsu_reference PUBLIC ${root})
    set(libraries ${arg_LIBRARIES})
    list(REMOVE_ITEM libraries retsu::cli)
    target_link_libraries(retsu_reference PUBLIC ${libraries})
    list(APPEND arg_LIBRARIES retsu_reference)
  endif()
  foreach(dir IN LISTS dirs)
    set(libraries ${arg_LIBRARIES})
    if(NOT dir STREQUAL "cli")
      list(REMOVE_ITEM libraries retsu::cli) # slow to build, and nobody else's business
    endif()
    retsu_test(test_${dir} PREFIX ${dir} SOURCES ${sources_${dir}} LIBRARIES ${libraries})
    target_include_directories(test_${dir} PRIVATE ${root})
    if(test_${dir} MATCHES "${RETSU_COMPUTING_TESTS}")
      retsu_precompile(test_pch test_${dir} AS computing_test_pch LINKS ${RETSU_TEST_LIBRARIES})
    else()
      retsu_precompile(test_pch test_${dir} LINKS ${RETSU_TEST_LIBRARIES} OPTIONS -O0)
    endif()
  endforeach()
endfunction()

# retsu_fuzzers(): each tests/fuzz/X_fuzz.cc, which defines LLVMFuzzerTestOneInput, is the program X_fuzz, linked with the
# folders that it includes. The target `fuzzers` is all of them, and nothing that they do not need.
function(retsu_fuzzers)
  add_custom_target(fuzzers)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    file(STRINGS ${file} includes REGEX "^#include \"[a-z_]+/")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    list(TRANSFORM includes REPLACE "^#include \"([a-z_]+)/.*$" "retsu::\\1" OUTPUT_VARIABLE libraries)
    list(REMOVE_DUPLICATES libraries)
    add_executable(${name} ${file})
    target_link_libraries(${name} PRIVATE ${libraries})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  endforeach()
endfunction()
