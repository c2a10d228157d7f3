#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <set>

#include "apps/library/door.h"
#include "bench.h"
#include "processes.h"

// The library as its users have it: the server is a process, and so is the import.
namespace retsu::bench {
namespace {

using library::ClaimMissing;
using library::MissingBooks;

std::string isbn(std::int64_t n) {
  // Scattered, as those of real lists are.
  const auto body = static_cast<std::uint64_t>(n) * 618'033'989 % 1'000'000'000;
  const std::uint64_t twelve = 978'000'000'000 + body;
  std::uint64_t sum = 0;
  std::uint64_t rest = twelve;
  for (int place = 0; place < 12; ++place, rest /= 10) sum += rest % 10 * (place % 2 == 0 ? 3 : 1);
  return std::to_string(twelve * 10 + (10 - sum % 10) % 10);
}

void write_books(const std::string& path, std::int64_t count) {
  std::ofstream file(path);
  file << "title,isbn13,authors\n";
  for (std::int64_t n = 1; n <= count; ++n) {
    file << "A book with the number " << n << ',' << isbn(n) << ",Author " << n % 100'000
         << "; Another author " << n % 7'919 << '\n';
  }
}

double percentile(std::vector<double>& all, double share) {
  std::ranges::sort(all);
  return all[static_cast<std::size_t>(static_cast<double>(all.size() - 1) * share)];
}

void measure_claims(library::Door& door) {
  std::vector<double> took;
  for (int i = 0; i < 500; ++i) {
    std::optional<Result<MissingBooks>> claimed;
    took.push_back(1e3 * seconds([&] { claimed = door.ask(ClaimMissing{}); }));
    RETSU_CHECK(claimed->has_value() && (*claimed)->books.size() == 100);
  }
  const double median = percentile(took, 0.5);
  fmt::print("claims of 100, one after the other: p50 {:.1f} ms, p95 {:.1f} ms (goal: under 5)\n",
             median, percentile(took, 0.95));
}

// Claims, matches half of the books and lets go of the rest, as fast as it goes.
void measure_crowd(const std::string& url) {
  std::mutex mutex;
  std::vector<double> took;
  std::set<std::string> given;
  std::atomic<int> errors = 0;
  std::atomic<int> twice = 0;
  const double whole = seconds([&] {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 50; ++i) {
      clients.emplace_back([&] {
        library::RemoteDoor door({.url = url, .patience = Millis(0)});
        std::string previous;
        for (int round = 0; round < 20; ++round) {
          std::optional<Result<MissingBooks>> claimed;
          const double ms = 1e3 * seconds([&] {
                              claimed = door.ask(ClaimMissing{.previous_processing_id = previous});
                            });
          if (!claimed->has_value()) {
            ++errors;
            continue;
          }
          previous = (*claimed)->processing_id;
          library::SettleBooks settle{.processing_id = previous};
          {
            const std::lock_guard lock(mutex);
            took.push_back(ms);
            for (const auto& book : (*claimed)->books) {
              if (!given.insert(book.book_id).second) ++twice;
            }
          }
          for (std::size_t each = 0; each < (*claimed)->books.size(); each += 2) {
            settle.results.push_back({.book_id = (*claimed)->books[each].book_id,
                                      .outcome = library::Verdict::kMatched,
                                      .hardcover_id = 1 + round});
          }
          if (!settle.results.empty() && !door.ask(settle)) ++errors;
        }
      });
    }
  });
  fmt::print(
      "50 clients at once, each claims 100, settles 50, goes on: {:.0f} requests/s, claim p50 "
      "{:.0f} "
      "ms, p95 {:.0f} ms, {} errors, {} books given twice\n",
      50 * 20 * 2 / whole, percentile(took, 0.5), percentile(took, 0.95), errors.load(),
      twice.load());
}

void run(const Options& options) {
  const std::int64_t books = std::min<std::int64_t>(options.most_tasks, 1'000'000);
  const TemporaryDirectory folder(".");
  const std::string file = folder.path() + "/books.csv";
  write_books(file, books);
  const ServerProcess server;
  const double took = seconds([&] {
    Process import({sibling("retsu"), "library", "import", file, "--at", server.url()});
    RETSU_CHECK(import.wait() == 0);
  });
  fmt::print("import of {} books from CSV through the server: {:.1f} s (goal: 120 for 1 M)\n",
             count(books), took);
  std::fflush(stdout);
  library::RemoteDoor door({.url = server.url()});
  const auto status = door.ask(library::GetStatus{});
  RETSU_CHECK(status.has_value() && status->unclaimed == books);
  measure_claims(door);
  measure_crowd(server.url());
}

}  // namespace

const Suite kLibrarySuite = {"library", "books: an import, claims out of many, many clients", run};

}  // namespace retsu::bench
