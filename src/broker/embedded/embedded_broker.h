#pragma once

#include <memory>
#include <string>

#include "broker/embedded/store.h"
#include "broker/engine_broker.h"

namespace retsu {

// A queue in a directory, for the programs of one machine: an answer is given when what it says has
// been synced to disk.
class EmbeddedBroker final : public EngineBroker {
 public:
  struct Settings {
    Limits limits;
    Clock clock = system_clock();  // none: it stands still until set_clock
    embedded::StoreSettings store;
  };
  static Result<std::unique_ptr<EmbeddedBroker>> open(const std::string& directory,
                                                      Settings settings);
  static Result<std::unique_ptr<EmbeddedBroker>> open(const std::string& directory);

  [[nodiscard]] const embedded::StoreFigures& figures() const { return *figures_; }

 private:
  EmbeddedBroker(Settings settings, std::unique_ptr<Engine> engine,
                 std::shared_ptr<const embedded::StoreFigures> figures,
                 std::unique_ptr<embedded::Store> store);

  const std::shared_ptr<const embedded::StoreFigures> figures_;
};

}  // namespace retsu
