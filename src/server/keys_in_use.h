#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "model/error.h"
#include "model/policy.h"

namespace retsu::server {

// Idempotency keys of streams that are still coming in. Only this process knows them: with it, they
// end. Thread-safe.
class KeysInUse : public std::enable_shared_from_this<KeysInUse> {
 public:
  struct Key {
    std::string caller;
    std::string key;
    auto operator<=>(const Key&) const = default;
  };

  // Ends the use when dropped.
  class Use {
   public:
    Use(std::shared_ptr<KeysInUse> all, Key key) : all_(std::move(all)), key_(std::move(key)) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      const std::lock_guard lock(all_->mutex_);
      all_->keys_.erase(key_);
    }

   private:
    const std::shared_ptr<KeysInUse> all_;
    const Key key_;
  };

  // None: another one uses it.
  std::unique_ptr<Use> use(Key key) {
    const std::lock_guard lock(mutex_);
    if (!keys_.insert(key).second) return nullptr;
    return std::make_unique<Use>(shared_from_this(), std::move(key));
  }
  [[nodiscard]] bool has(const Key& key) const {
    const std::lock_guard lock(mutex_);
    return keys_.contains(key);
  }

  static Error in_progress() {
    return {ErrorCode::kIdempotencyInProgress,
            "a request with this idempotency key is still coming in: ask again when it has ended",
            {},
            Millis(kSecond)};
  }

 private:
  mutable std::mutex mutex_;
  std::set<Key> keys_;
};

}  // namespace retsu::server
