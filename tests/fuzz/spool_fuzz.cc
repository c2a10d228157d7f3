// A line of a spool is refused, or read back as it is written; whatever stands in a file, its lines
// are found, and changing one leaves the others as they are.
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"
#include "base/temporary_directory.h"
#include "input.h"
#include "spool/delivery.h"
#include "spool/spool.h"

namespace {

using namespace retsu::spool;

void check_line(std::string_view line) {
  const auto entry = parse_entry(line);
  if (!entry) {
    RETSU_CHECK(!entry.error().empty());
    return;
  }
  const std::string written = line_of(*entry);
  RETSU_CHECK(written.find('\n') == std::string::npos);
  const auto again = parse_entry(written);
  RETSU_CHECK(again && *again == *entry);
  const Delivery delivery = delivery_of(*entry, "http://127.0.0.1:7380");
  RETSU_CHECK(delivery.url.starts_with("http://127.0.0.1:7380/"));
  RETSU_CHECK(!delivery.key.empty());
}

const std::string& path() {
  static const retsu::TemporaryDirectory& folder = *new retsu::TemporaryDirectory("/dev/shm");
  static const std::string name = folder.path() + "/queue.jsonl";
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_line(text.substr(0, text.find('\n')));

  for (const auto& name : {path(), dead_file_of(path()), corrupt_file_of(path())}) {
    std::filesystem::remove(name);
  }
  std::ofstream(path(), std::ios::binary) << text;
  Spool spool(path());
  const auto before = spool.read();
  RETSU_CHECK(before.has_value());
  const auto sound = before->in_order().size();
  const auto dropped = spool.tidy();
  RETSU_CHECK(dropped.has_value());
  const auto after = spool.read();
  RETSU_CHECK(after && after->damaged() == 0);
  RETSU_CHECK(after->in_order().size() + dropped->size() == sound);
  const Entry added{.id = "new", .type = "sync", .payload = retsu::Json("{}")};
  RETSU_CHECK(Spool(path(), {}, [] { return retsu::TimePoint{}; }).add(added).has_value());
  const auto last = spool.read();
  RETSU_CHECK(last && last->damaged() == 0);
  return 0;
}
