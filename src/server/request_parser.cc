#include "server/request_parser.h"

#include <fmt/format.h>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

namespace retsu::server {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::iequals;
using View = boost::beast::string_view;

Error too_large(std::string_view what, std::size_t limit) {
  return {ErrorCode::kTooLarge, fmt::format("the {} has more than {} bytes", what, limit)};
}

}  // namespace

class RequestParser::Parser final : public http::basic_parser<true> {
 public:
  explicit Parser(std::size_t header_limit) : header_limit_(header_limit) {
    this->header_limit(static_cast<std::uint32_t>(header_limit));
    this->body_limit(boost::none);
  }

  // The shortest rest of a body without chunks is `0 CRLF CRLF`. The parser does not stand being
  // shown less of it twice.
  [[nodiscard]] bool needs_more_than(std::size_t bytes) const {
    return is_header_done() && !is_done() && chunked() && !has_chunk_ && bytes < 5;
  }

  HttpRequest request;
  BodySink sink;
  std::optional<Error> refusal;  // ours, not the grammar's
  std::size_t most = SIZE_MAX;

  [[nodiscard]] Error error_of(const error_code& code) const {
    if (refusal) return *refusal;
    if (code == http::error::header_limit) return too_large("header", header_limit_);
    if (code == http::error::body_limit) return too_large("body", most);
    return {ErrorCode::kInvalid, "not a request of HTTP/1.1: " + code.message()};
  }

 private:
  void on_request_impl(http::verb, View method, View target, int version,
                       error_code& code) override {
    request.method = std::string(method);
    request.target = std::string(target);
    is_current_ = version == 11;
    if (version != 10 && version != 11) code = http::make_error_code(http::error::bad_version);
  }
  void on_field_impl(http::field, View name, View value, error_code& code) override {
    for (const KeptHeader& kept : kKeptHeaders) {
      if (!iequals(name, View(kept.name.data(), kept.name.size()))) continue;
      std::string& member = request.*(kept.member);
      if (!member.empty()) {
        return kept.may_be_twice ? void() : refuse_field(kept.name, "is given twice", code);
      }
      member = std::string(value);
      return;
    }
    if (iequals(name, "Expect")) request.expects_continue = iequals(value, "100-continue");
    // Another coding before the chunks, or instead of them.
    if (iequals(name, "Transfer-Encoding") && !iequals(value, "chunked")) {
      refuse_field("Transfer-Encoding", "must be chunked", code);
    }
  }
  void refuse_field(std::string_view name, std::string_view why, error_code& code) {
    refusal = Error{ErrorCode::kInvalid, fmt::format("the header {} {}", name, why)};
    code = http::make_error_code(http::error::bad_field);
  }
  void on_header_impl(error_code&) override { request.keep_alive = is_current_ && keep_alive(); }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(View bytes, error_code&) override {
    sink ? sink({bytes.data(), bytes.size()})
         : void(request.body.append(bytes.data(), bytes.size()));
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, View, error_code&) override { has_chunk_ = true; }
  std::size_t on_chunk_body_impl(std::uint64_t, View bytes, error_code& code) override {
    return on_body_impl(bytes, code);
  }
  void on_finish_impl(error_code&) override {}
  void on_response_impl(int, View, int, error_code&) override {}

  const std::size_t header_limit_;
  bool has_chunk_ = false;
  bool is_current_ = true;  // HTTP/1.1; a client of 1.0 gets one answer
};

RequestParser::RequestParser(std::size_t header_limit)
    : parser_(std::make_unique<Parser>(header_limit)) {}
RequestParser::RequestParser(RequestParser&& other) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&& other) noexcept = default;
RequestParser::~RequestParser() = default;

Result<std::size_t> RequestParser::take(std::string_view bytes) {
  if (parser_->needs_more_than(bytes.size())) return 0;
  error_code code;
  const std::size_t taken = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), code);
  if (code && code != http::error::need_more) return tl::unexpected(parser_->error_of(code));
  return taken;
}

bool RequestParser::has_begun() const { return parser_->got_some(); }
bool RequestParser::has_header() const { return parser_->is_header_done(); }
bool RequestParser::is_done() const { return parser_->is_done(); }

Status RequestParser::limit_body(std::size_t most) {
  parser_->most = most;
  parser_->body_limit(most);
  if (parser_->content_length().value_or(0) <= most) return {};
  return tl::unexpected(too_large("body", most));
}

void RequestParser::divert_body(BodySink sink) { parser_->sink = std::move(sink); }

HttpRequest& RequestParser::request() { return parser_->request; }

}  // namespace retsu::server
