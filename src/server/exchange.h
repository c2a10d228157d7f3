#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "broker/http_form.h"
#include "server/body_budget.h"
#include "server/caller.h"
#include "server/http_message.h"

namespace retsu::server {

struct Route;

// Takes a body while it comes in, for requests that are not to be held whole.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  virtual void take(std::string_view bytes) = 0;
  [[nodiscard]] virtual bool is_full() const = 0;  // no more for now; see Exchange::resume
  virtual void finish() = 0;                       // that was all of it: answer now
};

// One request and its answer. Shared by the connection and whoever serves it; everything happens on
// the loop's thread.
class Exchange {
 public:
  HttpRequest request;
  std::string peer;              // the address that it came from
  const Route* route = nullptr;  // none: refused
  PathFields path_fields;
  Caller caller;
  std::shared_ptr<BodyReader> body_reader;
  BodyBudget::Share body_share;  // of the request's body, until it is answered
  bool blocks_next = false;      // the next request of the connection must wait; see resume

  // Once, instead of begin.
  void respond(HttpResponse response);

  // An answer in pieces: begin, then send as often as there is something, then end. send answers
  // how many bytes nobody has taken yet.
  void begin(const HttpResponse& head);
  std::size_t send(std::string_view bytes);
  [[nodiscard]] std::size_t pending() const { return output_.size() + unsent_; }
  void end();

  // The body reader can take more, or the next request may come.
  void resume() { tell(); }
  // The body reader needs no more, and answers: what is still to come is not read.
  void refuse_rest() { keep_alive_ = false; }

  // The other side has closed its half, or the server stops: who waits for something stops waiting.
  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }

  // Called with each answer, as it begins.
  std::function<void(const HttpResponse&)> on_answer;

  // Called when all that was sent so far has been taken.
  std::function<void()> on_taken;

  // Called, at most once, when the connection ended before all of the answer was written.
  std::function<void()> on_lost;

  [[nodiscard]] bool is_answered() const { return answered_; }

 private:
  friend class Connection;
  void tell() {
    if (on_progress_) on_progress_();
  }
  void drop_body();
  void lose();  // the connection has gone

  std::string output_;
  std::size_t unsent_ = 0;  // taken by the connection, and not written yet
  bool answered_ = false;
  bool lost_ = false;
  bool keep_alive_ = true;
  std::stop_source stop_;
  std::function<void()> on_progress_;
};

}  // namespace retsu::server
