#include <cstdlib>
#include <string>

#include "api/door.h"
#include "api/tables.h"
#include "broker/embedded/embedded_broker.h"
#include "broker/memory/memory_broker.h"
#include "broker/remote/remote_broker.h"
#include "retsu/queue.h"

namespace retsu_api {
namespace {

std::unique_ptr<retsu::Broker> open_memory() {
  return std::make_unique<retsu::MemoryBroker>(retsu::Limits(),
                                               retsu::MemoryBroker::system_clock());
}

std::unique_ptr<retsu::Broker> open_directory(const std::string& directory) {
  auto broker = retsu::EmbeddedBroker::open(directory);
  if (broker) return std::move(*broker);
  retsu::Error& error = broker.error();
  if (error.code == retsu::ErrorCode::kConflict) {
    error.message += ": one program at a time can have a queue's directory open";
  }
  throw to_public(error);
}

// `redis` of redis://host:6379/0; empty for a directory.
std::string scheme_of(const std::string& where) {
  const auto end = where.find("://");
  return end == std::string::npos ? std::string() : where.substr(0, end);
}

std::unique_ptr<retsu::Broker> open_broker(const std::string& where) {
  if (where == "memory:") return open_memory();
  const std::string scheme = scheme_of(where);
  if (scheme == "http" || scheme == "https") {
    const char* const token = std::getenv("RETSU_TOKEN");
    return std::make_unique<retsu::RemoteBroker>(
        retsu::RemoteSettings{.url = where, .token = token == nullptr ? "" : token});
  }
  if (scheme == "redis") {
    throw Error("unavailable", "queues at " + scheme +
                                   "://… are not built into this version: name a directory, "
                                   "a server, or \"memory:\"");
  }
  if (where.empty() || !scheme.empty()) {
    throw Error("invalid", "\"" + where + "\" is not the name of a directory");
  }
  return open_directory(where);
}

}  // namespace

Queue open(const std::string& where) {
  return Queue(std::make_unique<Queue::Door>(open_broker(where)));
}

}  // namespace retsu_api
