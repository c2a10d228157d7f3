// For tests of the public interface.
#pragma once

#include <string>

#include "retsu/error.h"

namespace retsu_api {

// What `call` throws, as `code: message`; empty if it throws nothing.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace retsu_api
