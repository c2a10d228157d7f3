#include "broker/embedded/embedded_broker.h"

namespace retsu {

EmbeddedBroker::EmbeddedBroker(Settings settings, std::unique_ptr<Engine> engine,
                               std::shared_ptr<const embedded::StoreFigures> figures,
                               std::unique_ptr<embedded::Store> store)
    : EngineBroker(settings.limits, std::move(settings.clock), std::move(engine), std::move(store)),
      figures_(std::move(figures)) {}

Result<std::unique_ptr<EmbeddedBroker>> EmbeddedBroker::open(const std::string& directory,
                                                             Settings settings) {
  auto store = embedded::Store::open(directory, settings.store);
  if (!store) return tl::unexpected(std::move(store.error()));
  auto engine = std::make_unique<Engine>(settings.limits);
  if (auto loaded = (*store)->reopen(*engine); !loaded) {
    return tl::unexpected(std::move(loaded.error()));
  }
  auto figures = (*store)->figures();
  return std::unique_ptr<EmbeddedBroker>(new EmbeddedBroker(std::move(settings), std::move(engine),
                                                            std::move(figures), std::move(*store)));
}

Result<std::unique_ptr<EmbeddedBroker>> EmbeddedBroker::open(const std::string& directory) {
  return open(directory, Settings{});
}

}  // namespace retsu
