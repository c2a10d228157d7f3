// A server with a library, on a queue in memory whose clock stands still.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apps/library/library.h"
#include "base/http_client.h"
#include "base/isbn.h"
#include "base/temporary_directory.h"
#include "broker/codec.h"
#include "broker/memory/memory_broker.h"
#include "server/server.h"

namespace retsu {

class LibraryTest : public testing::Test {
 protected:
  static constexpr const char* kMissing = "/api/missing/hardcover";
  static constexpr const char* kAdmin = "/api/admin/hardcover-queue";

  LibraryTest() : queue_({}, nullptr) { advance(Millis(1'800'000'000'000)); }
  void SetUp() override { open(); }
  void TearDown() override { close(); }

  void open() {
    auto opened = library::Library::open(directory_.path(), queue_, [this] { return now_; });
    ASSERT_TRUE(opened) << opened.error().message;
    library_ = *std::move(opened);
    server::ServerSettings settings;
    settings.port = 0;
    settings.applications = {library_.get()};
    settings.tokens = tokens_;
    auto started = server::Server::start(queue_, settings);
    ASSERT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
  }
  void close() {
    if (server_) server_->stop(Millis(5'000));  // else an answer on its way counts as lost
    server_.reset();
    library_.reset();
  }
  void reopen() {
    close();
    open();
  }
  void advance(Millis by) {
    now_ += by;
    queue_.set_clock(now_);
  }

  HttpAnswer ask(const std::string& method, const std::string& target, std::string body = "",
                 std::vector<std::pair<std::string, std::string>> headers = {}) {
    auto answer = client_.call({.method = method,
                                .url = server_->address() + target,
                                .headers = std::move(headers),
                                .body = std::move(body),
                                .timeout = std::chrono::seconds(60)});
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *std::move(answer) : HttpAnswer{};
  }
  // Must succeed.
  template <class Reply>
  Reply done(const std::string& method, const std::string& target, std::string body = "") {
    const HttpAnswer answer = ask(method, target, std::move(body));
    EXPECT_EQ(answer.status / 100, 2) << method << " " << target << ": " << answer.body;
    auto reply = from_json<Reply>(answer.body);
    EXPECT_TRUE(reply) << answer.body;
    return reply ? *std::move(reply) : Reply{};
  }
  static std::string code_in(const HttpAnswer& answer) {
    const auto error = error_from_json(answer.body);
    return error ? std::string(row_of(error->code).name) : "no error";
  }

  library::MissingBooks claim(const std::string& query = "") {
    return done<library::MissingBooks>("GET", kMissing + query);
  }
  static std::string previous(const library::MissingBooks& claimed) {
    return "?previousProcessingId=" + claimed.processing_id;
  }
  // Books `Book 1`, `Book 2`…; answers their ids.
  std::vector<std::string> add(int count) {
    std::vector<std::string> ids;
    while (count > 0) {
      std::string body = R"({"books":[)";
      for (int i = 0; i < std::min(count, 1'000); ++i) {
        body += (i == 0 ? "" : ",") + std::string(R"({"title":"Book )") + std::to_string(++added_) +
                "\"}";
      }
      for (const auto& book : done<library::CreatedBooks>("POST", "/api/books", body + "]}").books)
        ids.push_back(book.id);
      count -= std::min(count, 1'000);
    }
    return ids;
  }
  library::Book book(const std::string& id) {
    return done<library::Book>("GET", "/api/books/" + id);
  }
  library::LibraryStatus status() {
    return done<library::LibraryStatus>("GET", "/api/hardcover-queue");
  }
  static std::vector<std::string> ids_of(const library::MissingBooks& claimed) {
    std::vector<std::string> ids;
    for (const auto& book : claimed.books) ids.push_back(book.book_id);
    return ids;
  }

  const TemporaryDirectory directory_;
  TimePoint now_;
  MemoryBroker queue_;
  server::Tokens* tokens_ = nullptr;
  std::unique_ptr<library::Library> library_;
  std::unique_ptr<server::Server> server_;
  HttpClient client_;
  int added_ = 0;
};

}  // namespace retsu
