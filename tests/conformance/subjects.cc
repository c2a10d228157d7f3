// The brokers of this build, each behind the same seam.

#include "conformance/subject.h"

#if __has_include("reference/reference_broker.h")
#include "reference/reference_broker.h"
#define RETSU_HAS_REFERENCE 1
#endif
#if __has_include("broker/memory/memory_broker.h")
#include "broker/memory/memory_broker.h"
#define RETSU_HAS_MEMORY 1
#endif

namespace retsu::conformance {
namespace {

// For brokers in this process that have set_clock themselves.
template <class B>
class LocalSubject : public Subject {
 public:
  explicit LocalSubject(Limits limits) : broker_(limits) {}

  Broker& broker() override { return broker_; }
  TimePoint now() override { return now_; }
  void set_clock(TimePoint time) override {
    now_ = time;
    broker_.set_clock(time);
  }

 private:
  B broker_;
  TimePoint now_{};
};

template <class B>
[[maybe_unused]] SubjectKind local(std::string name, bool is_slow) {
  return {std::move(name), [](Limits limits) { return std::make_unique<LocalSubject<B>>(limits); },
          is_slow};
}

}  // namespace

std::vector<SubjectKind> subject_kinds() {
  std::vector<SubjectKind> kinds;
#ifdef RETSU_HAS_REFERENCE
  kinds.push_back(local<ReferenceBroker>("Reference", true));
#endif
#ifdef RETSU_HAS_MEMORY
  kinds.push_back(local<MemoryBroker>("Memory", false));
#endif
  return kinds;
}

}  // namespace retsu::conformance
