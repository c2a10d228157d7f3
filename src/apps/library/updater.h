// A client of the library: claims books, looks them up at Hardcover, writes the ids back.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "apps/library/lookups.h"
#include "apps/library/resume.h"

namespace retsu::library {

struct UpdateSettings {
  HardcoverSettings hardcover;
  int at_once = 5;
  Millis lease{45'000};  // of a lookup: longer than the service takes
  std::int64_t batch = kClaimSize;
  bool follow = false;  // waits for more when all is done
};

struct UpdateProgress {
  std::int64_t matched = 0;
  std::int64_t unmatched = 0;
  std::int64_t failed = 0;      // to be tried again, or dead letters
  std::int64_t lost = 0;        // claimed by another meanwhile, after a reset
  std::int64_t left = 0;        // unclaimed, and of this client's
  std::optional<Millis> to_go;  // at the speed so far
  [[nodiscard]] std::int64_t done() const { return matched + unmatched + failed + lost; }
};

class Updater {
 public:
  // All of them outlive it.
  Updater(Door& library, Broker& broker, ResumePlace& place, UpdateSettings settings,
          std::function<void(const UpdateProgress&)> on_progress);

  // Until nothing is left or `stop` is requested: then what is under way is finished, and the rest
  // released. Refused: the service does not know the token (`unauthorized`), or the library cannot
  // be asked; books that could not be released stay claimed, and a next run goes on with them.
  Result<UpdateProgress> run(const std::stop_token& stop);

 private:
  using Steady = std::chrono::steady_clock;

  Status work_on(const MissingBooks& claimed, const std::stop_token& stop);
  SettleBook look_up_book(const MissingBook& book, const std::stop_token& stop);
  Result<bool> settle(const std::string& processing_id, SettleBook one);
  Status release(const std::string& processing_id, const std::vector<MissingBook>& books);
  void note_left(std::int64_t unclaimed, std::int64_t own);
  void tell();

  Door& library_;
  Broker& broker_;
  ResumePlace& place_;
  const UpdateSettings settings_;
  const std::function<void(const UpdateProgress&)> on_progress_;
  std::stop_source lookups_over_;  // nobody runs them any more
  std::stop_source refused_;
  HardcoverCaller caller_;
  UuidSource ids_;

  std::mutex mutex_;
  UpdateProgress progress_;
  const Steady::time_point began_ = Steady::now();
  std::int64_t left_at_first_ = -1;
};

}  // namespace retsu::library
