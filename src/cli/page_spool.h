#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace retsu::cli {

// Turns the order of pages round, however many there are: they wait in a file without a name.
class PageSpool {
 public:
  static Result<PageSpool> open(const std::string& directory);
  PageSpool(PageSpool&& other) noexcept;
  PageSpool& operator=(PageSpool&& other) = delete;
  ~PageSpool();

  Status add(std::string_view page);
  // Gives each to `take`, the last one first, until that refuses.
  Status take_back(const std::function<Status(std::string_view page)>& take) const;

 private:
  PageSpool(int file, std::string directory);

  int file_;
  std::string directory_;
  std::vector<std::size_t> ends_ = {0};  // of the pages, in the file
};

// What went wrong when a file was written, by its errno.
tl::unexpected<Error> unwritable(const std::string& name, int code);

}  // namespace retsu::cli
