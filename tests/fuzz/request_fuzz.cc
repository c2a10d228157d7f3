// Requests that come in pieces are the requests that come at once. What is no request is refused at
// once or when its line is over, which depends on the pieces. The first byte is how large the
// pieces are, the second where the first of them is cut.
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "input.h"
#include "server/request_parser.h"

namespace retsu::server {
namespace {

constexpr std::size_t kNoLimit = 1 << 20;
constexpr std::size_t kHeaderLimit = 128;
constexpr std::size_t kBodyLimit = 256;

auto values_of(const HttpRequest& of) {
  return std::tie(of.method, of.target, of.host, of.origin, of.authorization, of.content_type,
                  of.idempotency_key, of.last_event_id, of.body, of.keep_alive,
                  of.expects_continue);
}

// What a connection does with its bytes.
class Reader {
 public:
  explicit Reader(std::size_t header_limit) : header_limit_(header_limit) {}

  void take(std::string_view bytes) {
    if (refusal) return;
    kept_ += bytes;
    while (!kept_.empty() && !refusal && take_some() > 0) continue;
  }

  std::vector<HttpRequest> requests;
  std::optional<Error> refusal;

 private:
  std::size_t take_some() {
    const auto some = parser_.take(kept_);
    if (!some) {
      refusal = some.error();
      return 0;
    }
    RETSU_CHECK(*some <= kept_.size());
    kept_.erase(0, *some);
    if (parser_.has_header() && !std::exchange(is_limited_, true)) {
      if (auto fits = parser_.limit_body(kBodyLimit); !fits) refusal = fits.error();
    }
    if (!parser_.is_done()) return *some;
    RETSU_CHECK(parser_.request().body.size() <= kBodyLimit);
    requests.push_back(std::move(parser_.request()));
    parser_ = RequestParser(header_limit_);
    is_limited_ = false;
    return 1;  // also if the end of a request took no more bytes
  }

  const std::size_t header_limit_;
  RequestParser parser_ = RequestParser(header_limit_);
  bool is_limited_ = false;  // the body; once, as what has come counts
  std::string kept_;
};

// Whether these are the first of those.
bool begins(const std::vector<HttpRequest>& these, const std::vector<HttpRequest>& those) {
  const auto same = [](const auto& a, const auto& b) { return values_of(a) == values_of(b); };
  return std::ranges::mismatch(these, those, same).in1 == these.end();
}

}  // namespace
}  // namespace retsu::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retsu::server;  // NOLINT
  retsu::fuzz::Input in(data, size);
  const std::size_t piece = 1 + in.byte();
  const std::size_t first = in.byte();
  // A header that is not over may be refused at once or at its end, so it ends.
  const std::string stream = std::string(in.rest()) + "\r\n\r\n";

  Reader whole(kNoLimit);
  Reader pieces(kNoLimit);
  Reader limited(kHeaderLimit);  // how long is too long depends, by a few bytes, on the pieces
  whole.take(stream);
  for (std::size_t at = 0, length = first; at < stream.size(); at += length, length = piece) {
    pieces.take(stream.substr(at, length));
    limited.take(stream.substr(at, length));
  }

  RETSU_CHECK(whole.requests.size() == pieces.requests.size());
  RETSU_CHECK(begins(pieces.requests, whole.requests));
  RETSU_CHECK(begins(limited.requests, whole.requests));
  for (const Reader* reader : {&whole, &pieces, &limited}) {
    if (reader->refusal) RETSU_CHECK(retsu::is_utf8(reader->refusal->message));
  }
  return 0;
}
