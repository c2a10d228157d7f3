// The same brokers as in the conformance suite.
#include "conformance/subjects.cc"  // NOLINT: each test program has its own
