// A bad network between clients and a server: HTTP/1.1 on loopback, one request a connection.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace retsu {

// What may become of a request.
enum class Fate : std::uint8_t {
  kPass,
  kDelay,         // passed on later
  kDrop,          // the server does not see it
  kCutRequest,    // the server sees some of it
  kRepeatAtOnce,  // the server sees it on two connections, and the client one of the answers
  kRepeatAfter,   // the server sees it again when it has answered, and the client the second answer
  kLoseAnswer,    // the client does not see the answer
  kCutAnswer,     // the client sees some of it
};

// Passes on whole requests and whole answers, or what its dice say instead. An answer without an
// end, such as a stream of events, never arrives. Thread-safe but for what says otherwise.
class FaultyProxy {
 public:
  using Percent = std::map<Fate, int>;  // of requests; the rest passes

  struct Settings {
    std::string upstream;  // http://127.0.0.1:7380
    std::uint64_t seed = 1;
    Percent percent = {};
    std::chrono::milliseconds longest_delay{50};
  };

  // A request that the server was sent whole, and answered.
  struct Answered {
    std::string method;
    std::string target;
    std::string key;      // Idempotency-Key
    std::string attempt;  // Retsu-Attempt
    int status = 0;
    bool reached_client = false;  // the answer, whole
  };

  explicit FaultyProxy(Settings settings);  // online
  FaultyProxy(const FaultyProxy&) = delete;
  FaultyProxy& operator=(const FaultyProxy&) = delete;
  ~FaultyProxy();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const;

  // One thread at a time.
  void go_offline();  // connections are refused, and those that there are are cut
  void go_online();   // on the same port
  void set_percent(Percent percent);

  // Both wait until no request is under way.
  [[nodiscard]] std::vector<Answered> log();  // in the order of the answers
  [[nodiscard]] std::map<Fate, int> counts();

 private:
  class Wire;
  struct Session {
    std::thread thread;
    bool ended = false;
  };

  void accept_all(int listener);
  void serve(int client);
  Fate choose();
  std::uint64_t roll(std::uint64_t least, std::uint64_t most);
  void meet(Fate fate, const std::string& request, const Wire& client);
  std::size_t note(const std::string& request, const std::string& answer);

  const Settings settings_;
  int reserved_ = -1;  // bound and not listening: the port stays ours
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::thread acceptor_;

  std::mutex mutex_;  // for all that follows
  std::condition_variable idle_;
  bool online_ = false;
  std::mt19937_64 dice_;
  Percent percent_;
  std::set<int> open_;  // sockets to be cut
  std::list<Session> sessions_;
  int under_way_ = 0;
  std::vector<Answered> log_;
  std::map<Fate, int> counts_;
};

}  // namespace retsu
