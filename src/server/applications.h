// Applications that are served beside the queue.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>

#include "broker/application.h"
#include "server/operations.h"

namespace retsu::server {

// The thread of one application. Its requests are served in the order of their coming, and what it
// left for later in between. Ends, with what it has begun, when it goes.
class ApplicationThread {
 public:
  // The application outlives it.
  explicit ApplicationThread(Application& application) : application_(application) {}
  ~ApplicationThread() { finish(); }

  // Its routes. The thread outlives them.
  void add_to(Router& router, const Doors& doors);
  void tick();  // on the loop's thread
  // What is under way is done, what was asked besides is not; nothing may be asked after this. The
  // loop still runs.
  void finish();

 private:
  class Door;

  Application& application_;
  void undo(std::function<void()> on_lost);

  std::atomic<bool> is_ticking_ = false;
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> has_ended_ = false;
  boost::asio::thread_pool thread_{1};
};

}  // namespace retsu::server
