#include "server/exchange.h"

#include <utility>

#include "base/check.h"

namespace retsu::server {

void Exchange::respond(HttpResponse response) {
  RETSU_CHECK(!answered_);
  answered_ = true;
  if (on_answer) on_answer(response);
  drop_body();
  if (lost_) return lose();
  append_response(output_, response, keep_alive_, request.method == "HEAD");
  tell();
}

void Exchange::begin(const HttpResponse& head) {
  if (on_answer) on_answer(head);
  append_chunked_head(output_, head);
  tell();
}

std::size_t Exchange::send(std::string_view bytes) {
  if (lost_) return 0;
  append_chunk(output_, bytes);
  tell();
  return pending();
}

void Exchange::end() {
  RETSU_CHECK(!answered_);
  answered_ = true;
  drop_body();
  output_ += kLastChunk;
  tell();
}

// Before anybody sees the answer: who asks again at once shall not find its own bytes in the way.
void Exchange::drop_body() {
  request.body = {};
  body_share = {};
}

void Exchange::lose() {
  lost_ = true;
  on_progress_ = nullptr;
  body_reader = nullptr;
  stop_.request_stop();
  if (!answered_) return;
  if (const auto tell_of_it = std::exchange(on_lost, nullptr)) tell_of_it();
}

}  // namespace retsu::server
