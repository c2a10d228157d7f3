#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace retsu {

// Puts these bytes in the place of the file, readable by its owner only: whoever opens it, and
// after whatever crash, finds the old ones or the new ones. Durable when it returns. Failure: what
// went wrong.
tl::expected<void, std::string> replace_file(const std::string& path, std::string_view bytes);

}  // namespace retsu
