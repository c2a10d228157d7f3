# The libraries that come from the distribution, gathered in retsu_external.

find_package(Threads REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED COMPONENTS headers)
find_package(simdjson CONFIG REQUIRED)
find_package(date CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(tl-expected CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(tomlplusplus CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)

# Those that are more than headers: who links retsu links them too, see retsuConfig.cmake.in.
set(RETSU_LINKED
    fmt::fmt
    simdjson::simdjson
    date::date-tz
    OpenSSL::Crypto
    CURL::libcurl
    PkgConfig::sqlite3
    PkgConfig::xxhash
    Threads::Threads)

add_library(retsu_external INTERFACE)
target_link_libraries(retsu_external INTERFACE tl::expected Boost::headers ${RETSU_LINKED})

# The programs' allocator, except under sanitizers, which bring their own. A queue makes and drops many small things, and the
# answers are dropped by another thread than the one that made them.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  find_package(mimalloc CONFIG REQUIRED)
  set(RETSU_ALLOCATOR mimalloc)
endif()

if(NOT RETSU_FUZZ)
  find_package(GTest CONFIG REQUIRED)
  find_package(rapidcheck CONFIG REQUIRED)
endif()
