#pragma once

#include <sys/resource.h>

namespace retsu {

// As many open files as the system lets this process have: connections and pipes are files.
inline void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace retsu
