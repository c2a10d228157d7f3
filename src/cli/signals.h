#pragma once

#include <csignal>

namespace retsu::cli {

// Those that ask a program to end, and SIGHUP, are blocked for all threads that begin from now on,
// so that one can wait for them.
inline sigset_t hold_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

}  // namespace retsu::cli
