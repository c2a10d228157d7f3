// Events are the same wherever the stream is cut, and read back as they are written. The first byte
// is how large the pieces are.
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/event_stream.h"
#include "input.h"

namespace {

using Event = retsu::EventStreamReader::Event;

std::vector<Event> events_of(std::string_view stream, std::size_t piece) {
  std::vector<Event> events;
  retsu::EventStreamReader reader([&](const Event& event) { events.push_back(event); });
  for (std::size_t at = 0; at < stream.size(); at += piece) reader.take(stream.substr(at, piece));
  return events;
}

std::string written(const std::vector<Event>& events) {
  std::string stream;
  for (const Event& event : events) {
    stream += "id: " + event.id + "\nevent: " + event.name + "\ndata: ";
    for (const char c : event.data) c == '\n' ? void(stream += "\ndata: ") : stream.push_back(c);
    stream += "\n\n";
  }
  return stream;
}

bool same(const std::vector<Event>& a, const std::vector<Event>& b) {
  const auto values = [](const Event& event) { return std::tie(event.id, event.name, event.data); };
  return std::ranges::equal(a, b, {}, values, values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  retsu::fuzz::Input in(data, size);
  const std::size_t piece = 1 + in.byte();
  const auto whole = events_of(in.rest(), std::max<std::size_t>(in.rest().size(), 1));
  RETSU_CHECK(same(whole, events_of(in.rest(), piece)));
  RETSU_CHECK(same(whole, events_of(written(whole), piece)));
  return 0;
}
