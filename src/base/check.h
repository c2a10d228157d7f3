#pragma once

#include <cstdio>
#include <cstdlib>

// What cannot happen. Stays on in release builds: a queue that has lost its way must stop, not
// guess.
#define RETSU_CHECK(condition)                                                            \
  do {                                                                                    \
    if (!(condition)) [[unlikely]] {                                                      \
      std::fprintf(stderr, "%s:%d: cannot happen: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
