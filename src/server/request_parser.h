#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "server/http_message.h"

namespace retsu::server {

// One request, read piece by piece. What two readers could understand differently (two lengths, a
// length and chunks, folded lines, …) is refused.
class RequestParser {
 public:
  explicit RequestParser(std::size_t header_limit);
  RequestParser(RequestParser&& other) noexcept;
  RequestParser& operator=(RequestParser&& other) noexcept;
  ~RequestParser();

  // Takes what it can use from the front, and answers how many bytes that were: 0, if more must
  // come first. Stops after the header. Refused with `invalid` or `too_large`: no more can be read
  // then.
  Result<std::size_t> take(std::string_view bytes);

  [[nodiscard]] bool has_begun() const;   // a byte of it has come
  [[nodiscard]] bool has_header() const;  // all of it
  [[nodiscard]] bool is_done() const;

  // When there is a header: the most that the body may have. Refused with `too_large` if it says
  // itself that it has more.
  Status limit_body(std::size_t most);

  // Where the body goes, instead of into the request.
  using BodySink = std::function<void(std::string_view)>;
  void divert_body(BodySink sink);

  HttpRequest& request();

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace retsu::server
