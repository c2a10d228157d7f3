#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace retsu::server {

// Bytes of bodies that a server holds at once, over all connections. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : bytes_(bytes) {}

  // What one request has taken of it, given back when it goes.
  class Share {
   public:
    Share() = default;
    explicit Share(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
    Share(Share&& other) noexcept
        : budget_(std::move(other.budget_)), taken_(std::exchange(other.taken_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(taken_, other.taken_);
      return *this;
    }
    ~Share() {
      if (budget_) budget_->taken_ -= taken_;
    }

    // False: there is no room for so much more.
    bool take(std::size_t bytes) {
      if (!budget_) return true;
      taken_ += bytes;
      return (budget_->taken_ += bytes) <= budget_->bytes_;
    }

   private:
    std::shared_ptr<BodyBudget> budget_;
    std::size_t taken_ = 0;
  };

 private:
  const std::size_t bytes_;
  std::atomic<std::size_t> taken_ = 0;
};

}  // namespace retsu::server
