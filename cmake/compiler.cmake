# The language, the warnings and the tools that make builds fast.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(RETSU_WERROR "Warnings are errors" OFF)
option(RETSU_PCH "Precompile the standard headers" ON)
option(RETSU_TOGETHER "Compile files of a folder several at a time: faster, if all are compiled" OFF)
option(RETSU_FUZZ "Build the fuzzers of tests/fuzz instead of the tests (needs clang)" OFF)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(RETSU_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 cries wolf here, mostly inside std::string and std::variant once they are inlined: -Wrestrict is nearly
  # always wrong (GCC bug 105651), the others are worth reading but must not stop a build.
  add_compile_options(
    -Wno-restrict
    -Wno-missing-field-initializers # our structs have defaults, so naming some fields is enough
    -Wno-error=array-bounds
    -Wno-error=maybe-uninitialized
    -Wno-error=stringop-overflow
    -Wno-error=stringop-overread
    -Wno-error=tsan)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-w) # builds the fuzzers only; to warn is GCC's duty
endif()

find_program(RETSU_CCACHE ccache)
if(RETSU_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RETSU_CCACHE})
endif()

find_program(RETSU_MOLD mold)
if(RETSU_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
