#include "apps/library/resume.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "apps/library/hardcover_queue.h"
#include "base/atomic_file.h"

namespace retsu::library {
namespace {

constexpr int kMostPlaces = 1'000;

std::string claim_in(const std::string& path) {
  std::string id;
  std::ifstream(path) >> id;
  return is_id(id) ? id : std::string();
}

}  // namespace

std::unique_ptr<ResumePlace> ResumePlace::try_place(const std::string& folder, int number) {
  const std::string path = fmt::format("{}/client-{}", folder, number);
  const int lock = ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return nullptr;
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) {
    return std::unique_ptr<ResumePlace>(new ResumePlace(lock, path, claim_in(path)));
  }
  ::close(lock);
  return nullptr;
}

std::unique_ptr<ResumePlace> ResumePlace::take_left(const std::string& folder) {
  for (int number = 1; number <= kMostPlaces; ++number) {
    if (!std::filesystem::exists(fmt::format("{}/client-{}.lock", folder, number))) break;
    auto place = try_place(folder, number);
    if (place && !place->processing_id().empty()) return place;
  }
  return nullptr;
}

Result<std::unique_ptr<ResumePlace>> ResumePlace::take(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return refuse(ErrorCode::kInvalid, fmt::format("{}: {}", folder, failed.message()));
  }
  if (auto left = take_left(folder)) return left;
  for (int number = 1; number <= kMostPlaces; ++number) {
    if (auto place = try_place(folder, number)) return place;
  }
  return refuse(
      ErrorCode::kUnavailable,
      fmt::format("{}: cannot keep what this client works on: {}", folder, std::strerror(errno)));
}

ResumePlace::~ResumePlace() { ::close(lock_); }

Status ResumePlace::keep(const std::string& processing_id) {
  processing_id_ = processing_id;
  if (auto kept = replace_file(path_, processing_id + "\n"); !kept) {
    return refuse(ErrorCode::kUnavailable, kept.error());
  }
  return {};
}

void ResumePlace::clear() {
  processing_id_.clear();
  ::unlink(path_.c_str());
}

}  // namespace retsu::library
