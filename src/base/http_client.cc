#include "base/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "base/check.h"

namespace retsu {
namespace {

using Kind = HttpFailure::Kind;

struct FailureRow {
  CURLcode code;
  Kind kind;
};
constexpr FailureRow kFailures[] = {
    {CURLE_COULDNT_RESOLVE_HOST, Kind::kUnreachable},
    {CURLE_COULDNT_RESOLVE_PROXY, Kind::kUnreachable},
    {CURLE_COULDNT_CONNECT, Kind::kUnreachable},
    {CURLE_SSL_CONNECT_ERROR, Kind::kUnreachable},
    {CURLE_PEER_FAILED_VERIFICATION, Kind::kUnreachable},
    {CURLE_URL_MALFORMAT, Kind::kInvalid},
    {CURLE_UNSUPPORTED_PROTOCOL, Kind::kInvalid},
    {CURLE_OPERATION_TIMEDOUT, Kind::kTimeout},
    {CURLE_WRITE_ERROR, Kind::kTooLarge},
};

Kind kind_of(CURLcode code) {
  for (const FailureRow& row : kFailures) {
    if (row.code == code) return row.kind;
  }
  return Kind::kBroken;
}

void start_library() {
  static const bool started = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  RETSU_CHECK(started);
}

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

}  // namespace

std::string_view HttpAnswer::header(std::string_view name) const {
  const auto found = std::ranges::find(
      headers, name, [](const auto& header) { return std::string_view(header.first); });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

class HttpClient::Body {
 public:
  Body() {
    start_library();
    multi_ = curl_multi_init();
    RETSU_CHECK(multi_ != nullptr);
    thread_ = std::thread([this] { run(); });
  }
  ~Body() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  std::uint64_t start(HttpCall call, Done done) {
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = ++last_;
      arrived_.push_back({number, std::move(call), std::move(done)});
    }
    curl_multi_wakeup(multi_);
    return number;
  }

  void run_after(std::chrono::milliseconds delay, std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      later_.emplace(Clock::now() + delay, std::move(call));
    }
    curl_multi_wakeup(multi_);
  }

  void cancel(std::uint64_t number) {
    {
      const std::lock_guard lock(mutex_);
      canceled_.push_back(number);
    }
    curl_multi_wakeup(multi_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kPatienceMs = 60'000;

  struct Arrived {
    std::uint64_t number;
    HttpCall call;
    Done done;
  };
  struct Transfer {
    std::uint64_t number;
    HttpCall call;
    Done done;
    HttpAnswer answer = {};
    std::size_t sent = 0;   // of the body, if it is sent once
    bool has_head = false;  // the answer, whole
    std::unique_ptr<CURL, FreeHandle> handle = {};
    std::unique_ptr<curl_slist, FreeList> headers = {};
    char message[CURL_ERROR_SIZE] = {};
  };

  void run() {
    for (;;) {
      std::vector<Arrived> arrived;
      std::vector<std::uint64_t> canceled;
      std::vector<std::function<void()>> due;
      int patience_ms = kPatienceMs;
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) break;
        arrived.swap(arrived_);
        canceled.swap(canceled_);
        const auto now = Clock::now();
        for (auto first = later_.begin(); first != later_.end(); first = later_.begin()) {
          const auto left = std::chrono::ceil<std::chrono::milliseconds>(first->first - now);
          if (left.count() > 0) {
            patience_ms = static_cast<int>(std::min<std::int64_t>(left.count(), kPatienceMs));
            break;
          }
          due.push_back(std::move(first->second));
          later_.erase(first);
        }
      }
      for (const auto& call : due) call();
      for (Arrived& each : arrived) begin(std::move(each));
      for (const std::uint64_t number : canceled) end(number, canceled_failure());
      int running = 0;
      curl_multi_perform(multi_, &running);
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE) finish(message->easy_handle, message->data.result);
      }
      curl_multi_poll(multi_, nullptr, 0, patience_ms, nullptr);
    }
    while (!transfers_.empty()) end(transfers_.begin()->first, canceled_failure());
    for (Arrived& each : std::exchange(arrived_, {})) each.done(canceled_failure());
    // What was to happen at once happens.
    const auto now = Clock::now();
    for (const auto& [time, call] : std::exchange(later_, {})) {
      if (time <= now) call();
    }
  }

  static Answered canceled_failure() {
    return tl::unexpected(HttpFailure{Kind::kCanceled, "the call was given up"});
  }

  void begin(Arrived arrived) {
    const std::uint64_t number = arrived.number;
    auto owned = std::make_unique<Transfer>(
        Transfer{number, std::move(arrived.call), std::move(arrived.done)});
    Transfer& transfer = *owned;
    transfer.handle.reset(curl_easy_init());
    CURL* const handle = transfer.handle.get();
    RETSU_CHECK(handle != nullptr);
    const HttpCall& call = transfer.call;
    const auto add_header = [&](const std::string& line) {
      auto* const longer = curl_slist_append(transfer.headers.get(), line.c_str());
      RETSU_CHECK(longer != nullptr);
      (void)transfer.headers.release();
      transfer.headers.reset(longer);
    };
    for (const auto& [name, value] : call.headers) {
      add_header(value.empty() ? name + ";" : name + ": " + value);
    }
    add_header("Expect:");  // the server says no soon enough
    curl_easy_setopt(handle, CURLOPT_URL, call.url.c_str());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
    curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);  // `.` and `..` are names like others
    curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // nobody waits for a lookup that hangs
    if (call.method == "HEAD") {
      curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    } else if (!call.body.empty() || call.method == "POST" || call.method == "PUT" ||
               call.method == "PATCH") {
      curl_easy_setopt(handle, CURLOPT_POST, 1L);
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(call.body.size()));
      if (call.once && !call.body.empty()) {
        curl_easy_setopt(handle, CURLOPT_READFUNCTION, &give_body);
        curl_easy_setopt(handle, CURLOPT_READDATA, &transfer);
        curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, &refuse_to_repeat);
      } else {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call.body.c_str());
      }
    }
    // Without a body it would be sent again before it could be stopped.
    if (call.once && call.body.empty()) curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, transfer.headers.get());
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(call.connect_timeout.count()));
    if (call.timeout) {
      curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS,
                       static_cast<long>(std::max<std::int64_t>(call.timeout->count(), 1)));
    }
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, transfer.message);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, &transfer);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &take_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &take_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
    transfers_.emplace(number, std::move(owned));
    curl_multi_add_handle(multi_, handle);
  }

  static std::size_t give_body(char* bytes, std::size_t size, std::size_t count, void* from) {
    auto& transfer = *static_cast<Transfer*>(from);
    const std::size_t given = transfer.call.body.copy(bytes, size * count, transfer.sent);
    transfer.sent += given;
    return given;
  }
  static int refuse_to_repeat(void*, curl_off_t, int) { return CURL_SEEKFUNC_FAIL; }

  static std::size_t take_header(const char* bytes, std::size_t size, std::size_t count, void* to) {
    auto& transfer = *static_cast<Transfer*>(to);
    HttpAnswer& answer = transfer.answer;
    std::string_view line(bytes, size * count);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.remove_suffix(1);
    }
    transfer.has_head = line.empty();
    if (line.starts_with("HTTP/")) answer.headers.clear();  // an earlier one was not the last
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return size * count;
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    line.remove_prefix(colon + 1);
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    answer.headers.emplace_back(std::move(name), line);
    return size * count;
  }

  static std::size_t take_body(const char* bytes, std::size_t size, std::size_t count, void* to) {
    auto& transfer = *static_cast<Transfer*>(to);
    const std::string_view piece(bytes, size * count);
    long status = 0;
    curl_easy_getinfo(transfer.handle.get(), CURLINFO_RESPONSE_CODE, &status);
    if (transfer.call.on_piece && status == 200) {
      transfer.call.on_piece(piece);
      return piece.size();
    }
    const std::size_t room = transfer.call.answer_limit - transfer.answer.body.size();
    const bool is_failure = status >= 300;  // its status says what there is to know
    if (piece.size() > room && !is_failure) return 0;
    transfer.answer.body += piece.substr(0, room);
    return piece.size();
  }

  void finish(CURL* handle, CURLcode code) {
    Transfer* transfer = nullptr;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
    // For the library, a head without its end is an answer without a body.
    if (code == CURLE_OK && !transfer->has_head) code = CURLE_RECV_ERROR;
    if (code == CURLE_OK) {
      long status = 0;
      curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
      transfer->answer.status = static_cast<int>(status);
      return end(transfer->number, std::move(transfer->answer));
    }
    HttpFailure failure{kind_of(code),
                        transfer->message[0] != 0 ? transfer->message : curl_easy_strerror(code)};
    // What never connected cannot have been received.
    curl_off_t connected = 0;
    curl_easy_getinfo(handle, CURLINFO_PRETRANSFER_TIME_T, &connected);
    if (failure.kind == Kind::kTimeout && connected == 0) failure.kind = Kind::kUnreachable;
    end(transfer->number, tl::unexpected(std::move(failure)));
  }

  void end(std::uint64_t number, Answered answered) {
    auto found = transfers_.extract(number);
    if (found.empty()) return;
    curl_multi_remove_handle(multi_, found.mapped()->handle.get());
    found.mapped()->done(std::move(answered));
  }

  CURLM* multi_ = nullptr;
  std::map<std::uint64_t, std::unique_ptr<Transfer>> transfers_;  // the thread's
  std::mutex mutex_;
  std::vector<Arrived> arrived_;
  std::vector<std::uint64_t> canceled_;
  std::multimap<Clock::time_point, std::function<void()>> later_;
  std::uint64_t last_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

HttpClient::HttpClient() : body_(std::make_unique<Body>()) {}
HttpClient::~HttpClient() = default;

std::uint64_t HttpClient::start(HttpCall call, Done done) {
  return body_->start(std::move(call), std::move(done));
}

void HttpClient::cancel(std::uint64_t number) { body_->cancel(number); }

void HttpClient::run_after(std::chrono::milliseconds delay, std::function<void()> call) {
  body_->run_after(delay, std::move(call));
}

HttpClient::Answered HttpClient::call(HttpCall call, const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return tl::unexpected(HttpFailure{Kind::kUnreachable, "it was to stop before it began"});
  }
  const auto promise = std::make_shared<std::promise<Answered>>();
  auto answered = promise->get_future();
  const std::uint64_t number =
      start(std::move(call), [promise](Answered answer) { promise->set_value(std::move(answer)); });
  const std::stop_callback on_stop(stop, [this, number] { cancel(number); });
  return answered.get();
}

}  // namespace retsu
