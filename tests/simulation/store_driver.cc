#include <random>

#include "base/check.h"
#include "base/temporary_directory.h"
#include "broker/embedded/embedded_broker.h"
#include "conformance/store_subjects.h"
#include "reference/simulated_disk.h"
#include "simulation/driver.h"

namespace retsu::simulation {

class StoreDriver::Store {
 public:
  explicit Store(int calls_between_losses) : calls_between_losses_(calls_between_losses) {
    settings_.clock = nullptr;
    settings_.store.journal_bytes = 64 << 10;  // folds all the time
    settings_.store.ballast_bytes = 4'096;
    settings_.store.payload_bytes = 0;
    settings_.store.vfs = disk_.vfs();
    open();
  }

  void set_clock(TimePoint clock) {
    if (clock == clock_) return;
    clock_ = clock;
    broker_->set_clock(clock);
  }

  Answer ask(const Command& command) {
    if (!cut_) cut_power_soon();
    Context context;
    context.idempotency_key = "ask-" + std::to_string(++asked_);
    for (;;) {
      Answer got = call_any(*broker_, command, context);
      if (got || (got.error().code != ErrorCode::kOutcomeUnknown &&
                  got.error().code != ErrorCode::kUnavailable)) {
        return got;
      }
      open_again();
    }
  }

  [[nodiscard]] int losses() const { return losses_; }

 private:
  void cut_power_soon() {
    const auto calls = static_cast<std::uint64_t>(calls_between_losses_);
    disk_.cut_power_at(disk_.calls() + 1 + dice_() % (2 * calls));
    cut_ = true;
  }
  void open() {
    auto opened = EmbeddedBroker::open(directory_.path(), settings_);
    if (!opened) std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    RETSU_CHECK(opened.has_value());
    broker_ = std::move(*opened);
    broker_->set_clock(clock_);
  }
  void open_again() {
    broker_.reset();
    RETSU_CHECK(disk_.power_loss(dice_));  // or the store gave up without a reason
    cut_ = false;
    ++losses_;
    open();
  }

  const int calls_between_losses_;
  std::mt19937_64 dice_{42};
  reference::SimulatedDisk disk_;
  TemporaryDirectory directory_{conformance::fast_directory()};
  EmbeddedBroker::Settings settings_;
  TimePoint clock_ = kStart;
  std::uint64_t asked_ = 0;
  bool cut_ = false;
  int losses_ = 0;
  std::unique_ptr<EmbeddedBroker> broker_;
};

StoreDriver::StoreDriver(int calls_between_losses)
    : store_(std::make_unique<Store>(calls_between_losses)) {}
StoreDriver::~StoreDriver() = default;

Result<Reply> StoreDriver::apply(const Command& command) {
  store_->set_clock(clock);
  return store_->ask(command);
}

void StoreDriver::settle_down() { store_->set_clock(clock); }

bool StoreDriver::wait() {
  clock += Millis(1'000);
  settle_down();
  return true;
}

int StoreDriver::losses() const { return store_->losses(); }

}  // namespace retsu::simulation
