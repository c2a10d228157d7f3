// Brokers with a store of their own in a new directory, which goes with them.
#pragma once

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <random>
#include <string>

#include "base/check.h"
#include "base/temporary_directory.h"
#include "broker/embedded/embedded_broker.h"
#include "conformance/subject.h"
#include "reference/simulated_disk.h"

namespace retsu::conformance {

// In memory where that can be had: what survives is another test's business.
inline std::filesystem::path fast_directory() {
  const std::filesystem::path memory = "/dev/shm";
  return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
}

// A broker that ends and is opened again before every few calls, unless somebody waits or watches.
// By turns it is closed, and loses its power.
class RestartingBroker final : public Broker {
 public:
  RestartingBroker(std::string directory, EmbeddedBroker::Settings settings, int calls)
      : directory_(std::move(directory)), settings_(std::move(settings)), calls_(calls) {
    if (restarts()) settings_.store.vfs = disk_.vfs();
    open();
  }

  void submit(Command command, Context context, Done done) noexcept override {
    const std::lock_guard lock(mutex_);
    if (calls_ > 0 && ++called_ % calls_ == 0) restart();
    ++under_way_;
    broker_->submit(std::move(command), std::move(context),
                    [this, done = std::move(done)](Answer reply) {
                      --under_way_;
                      done(std::move(reply));
                    });
  }
  Subscription watch(EventFilter filter, EventSink sink) override {
    watched_ = true;
    return broker_->watch(std::move(filter), std::move(sink));
  }
  [[nodiscard]] Capabilities capabilities() const override { return broker_->capabilities(); }

  [[nodiscard]] bool restarts() const { return calls_ > 0; }
  void set_clock(TimePoint time) {
    time_ = time;
    latest_ = std::max(latest_.value_or(time), time);
    broker_->set_clock(time);
  }

 private:
  void open() {
    auto opened = EmbeddedBroker::open(directory_, settings_);
    if (!opened) std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    RETSU_CHECK(opened.has_value());
    broker_ = std::move(*opened);
    // That only time has passed is not stored, and this clock may have been set back since.
    if (latest_) broker_->set_clock(*latest_);
    if (time_ != latest_) broker_->set_clock(*time_);
  }
  void restart() {
    if (under_way_ > 0 || watched_) return;
    crashes_ = !crashes_;
    if (crashes_) disk_.cut_power();
    broker_.reset();
    if (crashes_) RETSU_CHECK(disk_.power_loss(dice_));
    open();
  }

  const std::string directory_;
  reference::SimulatedDisk disk_;
  std::mt19937_64 dice_{42};
  EmbeddedBroker::Settings settings_;
  const int calls_;       // 0: never
  bool crashes_ = false;  // did so last
  std::mutex mutex_;
  int called_ = 0;
  std::atomic<int> under_way_ = 0;
  bool watched_ = false;
  std::optional<TimePoint> time_;
  std::optional<TimePoint> latest_;
  std::unique_ptr<EmbeddedBroker> broker_;
};

// Lists and payloads come from the tables, however few tasks there are.
inline embedded::StoreSettings from_tables(embedded::StoreSettings settings) {
  settings.searched_tasks = 0;
  settings.payload_bytes = 0;
  return settings;
}

class EmbeddedSubject final : public Subject {
 public:
  EmbeddedSubject(Limits limits, int calls, embedded::StoreSettings store = {})
      : broker_(directory_.path(), {limits, nullptr, from_tables(store)}, calls) {}

  Broker& broker() override { return broker_; }
  TimePoint now() override { return now_; }
  bool forgets_workers() override { return broker_.restarts(); }
  void set_clock(TimePoint time) override {
    now_ = time;
    broker_.set_clock(time);
  }

 private:
  TemporaryDirectory directory_{fast_directory()};
  RestartingBroker broker_;
  TimePoint now_{};
};

}  // namespace retsu::conformance
