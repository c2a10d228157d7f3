#include "server/connection.h"

#include <utility>

namespace retsu::server {
namespace {

// A refused request's body is read and forgotten up to here, so that the next request can follow.
constexpr std::size_t kForgottenBody = 64 << 10;
// What is always held, so that small requests (a heartbeat, a result) find room beside large ones.
constexpr std::size_t kFreeBody = 64 << 10;

}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, Site& site, const ConnectionLimits& limits,
                       std::string peer, Post post, std::function<void(Connection&)> on_closed)
    : stream_(std::move(stream)),
      site_(site),
      limits_(limits),
      peer_(std::move(peer)),
      post_(std::move(post)),
      on_closed_(std::move(on_closed)),
      parser_(limits.header_bytes),
      last_active_(Clock::now()) {}

void Connection::start() {
  stream_->open([self = shared_from_this()](error_code code) {
    if (code) return self->close();
    self->read();
  });
}

// -- in

void Connection::read() {
  if (reading_ || closed_ || input_ended_) return;
  // Also when no more is taken: somebody who waits may go.
  const bool watches = last_ && !exchanges_.empty();
  if (!lingers_ && !watches && !may_take()) return;
  reading_ = true;
  stream_->read([self = shared_from_this()](error_code code, std::string_view bytes) {
    self->reading_ = false;
    self->on_read(code, bytes);
  });
}

void Connection::on_read(error_code code, std::string_view bytes) {
  if (closed_) return;
  if (code == boost::asio::error::eof) {
    // It may have gone, or only have said all that it had to say.
    input_ended_ = last_ = true;
    if (lingers_) return close();
    drop_arriving();
    for (const auto& exchange : exchanges_) exchange->stop_.request_stop();
    return go_on();
  }
  if (code) return close();
  if (lingers_ || (last_ && !arriving_)) {
    lingered_bytes_ += bytes.size();
    return lingered_bytes_ > limits_.linger_bytes ? close() : read();
  }
  last_active_ = Clock::now();
  parse(bytes);
  go_on();
}

void Connection::parse(std::string_view bytes) {
  if (kept_.empty()) {
    kept_ = bytes.substr(take_some(bytes));
  } else {
    kept_ += bytes;
    kept_.erase(0, take_some(kept_));
  }
  if (kept_.empty()) kept_.shrink_to_fit();
  // What the grammar lets grow without end: the text between a chunk's length and its bytes.
  if (may_take() && kept_.size() > limits_.header_bytes) {
    refuse({ErrorCode::kTooLarge, "a line of the request is too long"});
  }
}

// Answers how many bytes were taken from the front.
std::size_t Connection::take_some(std::string_view bytes) {
  std::size_t taken = 0;
  held_back_ = false;
  while (taken < bytes.size()) {
    if (!may_take()) {
      held_back_ = true;
      break;
    }
    if (!parser_.has_begun()) request_began_ = Clock::now();
    const auto some = parser_.take(bytes.substr(taken));
    if (!some) {
      refuse(some.error());
      return bytes.size();
    }
    taken += *some;
    if (arriving_) {
      body_bytes_ += *some;
      const bool is_held =
          arriving_->route != nullptr && !arriving_->body_reader && body_bytes_ > kFreeBody;
      if (is_held && !arriving_->body_share.take(*some)) {
        refuse({ErrorCode::kOverloaded, "the server holds too many large requests; try again", "",
                Millis(1'000)});
        return bytes.size();
      }
    } else if ((header_bytes_ += *some) > limits_.header_bytes) {
      refuse({ErrorCode::kTooLarge,
              "the header has more than " + std::to_string(limits_.header_bytes) + " bytes"});
      return bytes.size();
    }
    if (parser_.has_header() && !arriving_) begin_request();
    if (last_ && !arriving_) return bytes.size();
    if (parser_.is_done()) {
      end_request();
    } else if (*some == 0) {
      break;
    }
  }
  return taken;
}

void Connection::begin_request() {
  arriving_ = std::make_shared<Exchange>();
  body_bytes_ = header_bytes_ = slice_bytes_ = 0;
  slice_began_ = Clock::now();
  Exchange& exchange = *arriving_;
  exchange.peer = peer_;
  exchange.body_share = BodyBudget::Share(limits_.bodies);
  exchange.request = std::move(parser_.request());
  exchange.keep_alive_ = exchange.request.keep_alive;
  add(arriving_);
  auto limit = site_.admit(arriving_);
  Status fits = limit ? parser_.limit_body(*limit) : Status();
  if (limit && fits) {
    if (exchange.body_reader) {
      parser_.divert_body(
          [reader = exchange.body_reader](std::string_view bytes) { reader->take(bytes); });
    }
    if (exchange.request.expects_continue && !parser_.is_done() && exchanges_.size() == 1) {
      exchange.output_ += "HTTP/1.1 100 Continue\r\n\r\n";
      on_progress();
    }
    return;
  }
  const Error& error = limit ? fits.error() : limit.error();
  exchange.route = nullptr;
  exchange.body_reader = nullptr;
  if (!parser_.limit_body(kForgottenBody) || exchange.request.expects_continue) {
    exchange.keep_alive_ = false;
    last_ = true;
    arriving_ = nullptr;
    return exchanges_.back()->respond(to_response(error));
  }
  exchange.respond(to_response(error));
}

void Connection::end_request() {
  const std::shared_ptr<Exchange> exchange = std::exchange(arriving_, nullptr);
  exchange->request.body = std::move(parser_.request().body);
  parser_ = RequestParser(limits_.header_bytes);
  if (!exchange->keep_alive_) last_ = true;
  if (exchange->route == nullptr) return;  // refused
  const auto reader = std::exchange(exchange->body_reader, nullptr);
  reader ? reader->finish() : site_.serve(exchange);
}

// What came is no request, or takes too long: nothing after it can be understood.
void Connection::refuse(const Error& error) {
  if (last_ && !arriving_) return;
  last_ = true;
  kept_.clear();
  parser_ = RequestParser(limits_.header_bytes);
  std::shared_ptr<Exchange> exchange = std::exchange(arriving_, nullptr);
  if (exchange && exchange->body_reader) return close();  // it would answer for what it has
  if (!exchange) add(exchange = std::make_shared<Exchange>());
  if (exchange->is_answered()) return;
  exchange->keep_alive_ = false;
  exchange->respond(to_response(error));
}

void Connection::add(const std::shared_ptr<Exchange>& exchange) {
  exchange->on_progress_ = [this] { on_progress(); };
  exchanges_.push_back(exchange);
}

// Half a request: nobody will be answered.
void Connection::drop_arriving() {
  if (!arriving_) return;
  std::erase(exchanges_, arriving_);
  std::exchange(arriving_, nullptr)->lose();
}

bool Connection::may_take() const {
  if (last_ && !arriving_) return false;
  if (arriving_ && arriving_->body_reader && arriving_->body_reader->is_full()) return false;
  if (!exchanges_.empty() && exchanges_.back()->blocks_next) return false;
  return exchanges_.size() < limits_.pipelined + (arriving_ ? 1 : 0) &&
         gathered_.size() + writing_.size() < limits_.unread_bytes;
}

// -- out

// Answers that are made together are written together.
void Connection::on_progress() {
  if (std::exchange(posted_, true)) return;
  post_([self = shared_from_this()] {
    self->posted_ = false;
    self->go_on();
  });
}

void Connection::go_on() {
  if (closed_) return;
  gather();
  if (held_back_ && may_take()) {
    parse({});
    gather();
  }
  write();
  if (!closed_) read();
}

void Connection::gather() {
  while (!exchanges_.empty()) {
    Exchange& exchange = *exchanges_.front();
    exchange.unsent_ += exchange.output_.size();
    gathered_total_ += exchange.output_.size();
    gathered_ += exchange.output_;
    exchange.output_.clear();
    if (!exchange.answered_) break;
    if (&exchange == arriving_.get()) {
      if (!std::exchange(exchange.body_reader, nullptr))
        break;  // refused: what is left of its body is short
      arriving_ = nullptr;
      last_ = true;
      kept_.clear();
    }
    if (!exchange.keep_alive_) last_ = true;
    leaving_.push_back({std::move(exchanges_.front()), gathered_total_});
    exchanges_.pop_front();
  }
}

void Connection::write() {
  if (!writing_.empty()) return;
  if (gathered_.empty()) {
    if (last_ && exchanges_.empty() && !lingers_) linger();
    return;
  }
  writing_.swap(gathered_);
  written_ = 0;
  last_written_ = Clock::now();
  on_written({}, 0);
}

void Connection::on_written(error_code code, std::size_t size) {
  if (closed_) return;
  if (code) return close();
  if (size > 0) last_active_ = last_written_ = Clock::now();
  written_ += size;
  written_total_ += size;
  while (!leaving_.empty() && leaving_.front().end <= written_total_) leaving_.pop_front();
  if (written_ < writing_.size()) {
    return stream_->write(std::string_view(writing_).substr(written_),
                          [self = shared_from_this()](error_code failed, std::size_t more) {
                            self->on_written(failed, more);
                          });
  }
  writing_.clear();
  if (writing_.capacity() > limits_.header_bytes) writing_.shrink_to_fit();
  if (!exchanges_.empty()) {
    Exchange& streaming = *exchanges_.front();
    streaming.unsent_ = gathered_.size();
    if (streaming.on_taken && gathered_.empty()) streaming.on_taken();
  }
  go_on();
}

// Closing at once while the other side still sends could take the last answer from it.
void Connection::linger() {
  if (input_ended_ || finishes_) return close();
  lingers_ = true;
  stream_->end_writing();
  last_active_ = Clock::now();
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  stream_->close();
  for (const auto& [exchange, end] : std::exchange(leaving_, {})) exchange->lose();
  for (const auto& exchange : std::exchange(exchanges_, {})) exchange->lose();
  arriving_ = nullptr;
  on_closed_(*this);
}

// -- time

bool Connection::is_late(Clock::time_point now) const {
  const auto quiet = now - last_active_;
  if (lingers_) return quiet > limits_.linger_time;
  if (!writing_.empty()) return now - last_written_ > limits_.stalled_time;
  return exchanges_.empty() && quiet > limits_.idle_time;
}

// Whether too little of a body came of late, however fast it began.
bool Connection::is_too_slow(Clock::time_point now) {
  const auto past = std::chrono::floor<std::chrono::milliseconds>(now - slice_began_);
  if (past <= limits_.stalled_time) return false;
  const auto bytes = body_bytes_ - std::exchange(slice_bytes_, body_bytes_);
  slice_began_ = now;
  return bytes * 1'000 < limits_.body_bytes_per_second * static_cast<std::size_t>(past.count());
}

void Connection::sweep(Clock::time_point now) {
  if (is_late(now)) return close();
  const bool waits_for_us = !may_take();
  if (waits_for_us || !(parser_.has_begun() || !kept_.empty())) {
    slice_began_ = now;
    slice_bytes_ = body_bytes_;
    return;
  }
  const auto earned =
      std::chrono::milliseconds(1'000 * body_bytes_ / limits_.body_bytes_per_second);
  const bool is_stalled = arriving_ && is_too_slow(now);
  const auto allowed = limits_.request_time + (arriving_ ? earned : earned.zero());
  if (!is_stalled && now - request_began_ <= allowed) return;
  refuse({ErrorCode::kDeadline, "the request took too long to arrive"});
  go_on();
}

void Connection::finish() {
  last_ = finishes_ = true;
  if (arriving_ && !arriving_->body_reader) drop_arriving();
  for (const auto& exchange : exchanges_) {
    exchange->keep_alive_ = false;
    exchange->stop_.request_stop();
  }
  go_on();
}

void Connection::turn_away(const Error& error) {
  refuse(error);
  go_on();
}

}  // namespace retsu::server
