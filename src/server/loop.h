#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <utility>

namespace retsu::server {

// The thread on which everything of a server happens, but for long work, which goes to another one.
// Shared with whoever may still have something to post when the server has gone; what is posted
// must not share it, or it would never go.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  // From any thread: runs there soon, in the order of the calls.
  template <class Call>
  void post(Call call) {
    boost::asio::post(context_, std::move(call));
  }
  // Runs beside the loop.
  template <class Call>
  void post_long(Call call) {
    boost::asio::post(beside_, std::move(call));
  }

  boost::asio::io_context& context() { return context_; }
  void run() { context_.run(); }
  void stop() { context_.stop(); }
  void finish_long() { beside_.join(); }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> busy_ =
      boost::asio::make_work_guard(context_);
  boost::asio::thread_pool beside_{1};
};

}  // namespace retsu::server
