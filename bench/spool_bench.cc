#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/check.h"
#include "base/temporary_directory.h"
#include "base/wall_clock.h"
#include "bench.h"
#include "spool/spool.h"

// What the promises of a spool cost beside a file to which lines are appended and synced.
namespace retsu::bench {
namespace {

constexpr int kAdds = 1'000;  // as many as it holds
constexpr int kRounds = 5;

spool::Entry entry(int number, std::size_t bytes) {
  return {.id = fmt::format("01a1e61e-0d3b-7247-8bbc-8db3{:08}", number),
          .type = "upload",
          .payload = Json(fmt::format("{{\"data\":\"{}\"}}", std::string(bytes, 'x'))),
          .priority = static_cast<spool::Urgency>(number % 3),
          .created_at = wall_clock()};
}

// Lines appended and synced, and nothing else.
class BareFile {
 public:
  explicit BareFile(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    RETSU_CHECK(file_ >= 0);
  }
  ~BareFile() { ::close(file_); }
  void add(const std::string& line) const {
    RETSU_CHECK(::write(file_, line.data(), line.size()) == std::ssize(line));
    RETSU_CHECK(::fsync(file_) == 0);
  }

 private:
  const int file_;
};

// In turns, a few at a time: a disk that others use is not the same from one second to the next.
void measure_adding() {
  constexpr int kTurn = 10;
  std::vector<double> shares;
  fmt::print("{:>6} {:>14} {:>14} {:>7}\n", "round", "bare, adds/s", "spool, adds/s", "share");
  for (int round = 1; round <= kRounds; ++round) {
    const TemporaryDirectory folder(".");  // on the disk that is being measured
    const BareFile bare(folder.path() + "/bare.jsonl");
    spool::Spool spool(folder.path() + "/queue.jsonl");
    double bare_took = 0;
    double spool_took = 0;
    for (int first = 0; first < kAdds; first += kTurn) {
      std::vector<std::string> lines;
      for (int i = 0; i < kTurn; ++i) lines.push_back(line_of(entry(first + i, 128)) + '\n');
      bare_took += seconds([&] {
        for (const std::string& line : lines) bare.add(line);
      });
      spool_took += seconds([&] {
        for (int i = 0; i < kTurn; ++i) RETSU_CHECK(spool.add(entry(first + i, 128)));
      });
    }
    const double share = bare_took / spool_took;
    shares.push_back(share);
    fmt::print("{:>6} {:>14.0f} {:>14.0f} {:>6.0f}%  {}\n", round, kAdds / bare_took,
               kAdds / spool_took, 100 * share, bar(share, 40));
  }
  std::ranges::sort(shares);
  fmt::print("add: {:.0f} % of a bare append and fsync, in the middle of {} rounds (goal: 50)\n\n",
             100 * shares[kRounds / 2], kRounds);
}

void measure_opening(int tasks, std::size_t bytes) {
  const TemporaryDirectory folder(".");
  const std::string path = folder.path() + "/queue.jsonl";
  {
    std::ofstream file(path);
    for (int i = 0; i < tasks; ++i) file << line_of(entry(i, bytes)) << '\n';
  }
  const auto size = std::ifstream(path, std::ios::ate).tellg();
  fmt::print("open and sort {} tasks, {:.1f} MB:", count(tasks), static_cast<double>(size) / 1e6);
  for (int round = 0; round < kRounds; ++round) {
    std::size_t found = 0;
    const double took = seconds([&] { found = spool::Spool(path).read()->in_order().size(); });
    RETSU_CHECK(found == static_cast<std::size_t>(tasks));
    fmt::print(" {:.1f} ms", 1e3 * took);
  }
  fmt::print(" (goal: less than 100)\n");
}

void run(const Options&) {
  measure_adding();
  measure_opening(1'000, 10'000);
  measure_opening(36'000, 128);
}

}  // namespace

const Suite kSpoolSuite = {"spool", "adding to a spool, and opening a full one", run};

}  // namespace retsu::bench
