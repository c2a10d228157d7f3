#pragma once

#include <algorithm>
#include <string_view>

namespace retsu {

inline constexpr std::string_view kBom = "\xef\xbb\xbf";  // the byte order mark of UTF-8

// Passes a text on, in pieces, without the byte order mark that it may begin with.
class BomSkipper {
 public:
  // Calls next(piece) at most twice.
  template <class Next>
  void take(std::string_view bytes, Next&& next) {
    const std::string_view expected = kBom.substr(seen_);
    const auto same =
        static_cast<std::size_t>(std::ranges::mismatch(bytes, expected).in1 - bytes.begin());
    seen_ += same;
    bytes.remove_prefix(same);
    if (bytes.empty()) return;
    end(next);
    next(bytes);
  }
  // All was taken. What only began as a mark is text.
  template <class Next>
  void end(Next&& next) {
    if (seen_ > 0 && seen_ < kBom.size()) next(kBom.substr(0, seen_));
    seen_ = kBom.size();
  }

 private:
  std::size_t seen_ = 0;  // bytes of the mark; all, if no more are looked for
};

}  // namespace retsu
