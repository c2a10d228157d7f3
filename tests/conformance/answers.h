// How the suite judges and prints answers.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <stdexcept>
#include <string>

#include "model/operations.h"

namespace retsu {

inline void PrintTo(State state, std::ostream* out) { *out << name_of(state); }
inline void PrintTo(Reason reason, std::ostream* out) {
  *out << (reason == Reason::kNone ? "none" : name_of(reason));
}
inline void PrintTo(Cause cause, std::ostream* out) { *out << name_of(cause); }
inline void PrintTo(ErrorCode code, std::ostream* out) { *out << row_of(code).name; }
inline void PrintTo(const Text& text, std::ostream* out) { *out << '"' << text.view() << '"'; }
inline void PrintTo(const Json& json, std::ostream* out) { *out << json.view(); }
inline void PrintTo(const Error& error, std::ostream* out) {
  *out << row_of(error.code).name << ": " << error.message << ' ' << error.details;
}
inline void PrintTo(const Dependency& dependency, std::ostream* out) {
  *out << dependency.id << ' ' << name_of(dependency.when);
}
inline void PrintTo(const Input& input, std::ostream* out) {
  *out << name_of(input.state) << ' ' << input.result.view();
}
inline void PrintTo(const Settled& settled, std::ostream* out) {
  *out << settled.id << (settled.ok ? " ok " : " refused ");
  if (settled.state) *out << name_of(*settled.state);
  if (settled.error) PrintTo(*settled.error, out);
}

namespace conformance {

// Thrown where a test needs a success and gets none: the test ends there, as failed.
class Unexpected : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
const Error* error_in(const Result<T>& result) {
  return result ? nullptr : &result.error();
}
inline const Error* error_in(const Settled& settled) {
  return !settled.ok && settled.error ? &*settled.error : nullptr;
}
inline const Error* error_in(const Pushed& pushed) {
  return pushed.error ? &*pushed.error : nullptr;
}

template <class Answer>
testing::AssertionResult is_refused(const Answer& answer, ErrorCode code) {
  const Error* error = error_in(answer);
  if (!error) return testing::AssertionFailure() << "not refused";
  if (error->code != code) {
    return testing::AssertionFailure() << "refused with " << testing::PrintToString(*error)
                                       << "\ninstead of " << row_of(code).name;
  }
  if (error->message.empty()) return testing::AssertionFailure() << "the error says nothing";
  return testing::AssertionSuccess();
}

#define EXPECT_REFUSED(answer, code) EXPECT_TRUE(is_refused(answer, code))

}  // namespace conformance
}  // namespace retsu
