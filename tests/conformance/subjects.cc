// The brokers of this build, each behind the same seam.

#include "broker/memory/memory_broker.h"
#include "conformance/http_subject.h"
#include "conformance/store_subjects.h"
#include "conformance/subject.h"
#include "reference/reference_broker.h"

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
SubjectKind local(std::string name, bool is_slow) {
  return {std::move(name), [](Limits limits) { return std::make_unique<LocalSubject<B>>(limits); },
          is_slow};
}

// A little journal, so that folding goes on all the time.
SubjectKind embedded(std::string name, int calls) {
  const embedded::StoreSettings store{.journal_bytes = 4'096, .ballast_bytes = 4'096};
  return {std::move(name), [calls, store](Limits limits) {
            return std::make_unique<EmbeddedSubject>(limits, calls, store);
          }};
}

}  // namespace

std::vector<SubjectKind> subject_kinds(int calls) {
  return {local<ReferenceBroker>("Reference", true),
          local<MemoryBroker>("Memory", false),
          embedded("Embedded", 0),
          embedded("Restarted", calls),
          {"Http", [](Limits limits) { return std::make_unique<HttpSubject>(limits); }}};
}

}  // namespace retsu::conformance
