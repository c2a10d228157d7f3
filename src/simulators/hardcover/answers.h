// The answers that are not of the catalogue, as the service words them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulators/hardcover/faults.h"
#include "simulators/http_service.h"

namespace retsu::simulators::hardcover {

inline constexpr std::string_view kGraphqlPath = "/v1/graphql";

// Whether `authorization` is `Bearer TOKEN`; an empty token means any.
bool has_token(std::string_view authorization, std::string_view token);

ServiceAnswer json_answer(int status, std::string body);
ServiceAnswer failure(int status, std::string_view error);  // {"error":…}

ServiceAnswer unauthorized();
ServiceAnswer too_many_fields(std::size_t most);
ServiceAnswer too_many_requests(std::int64_t retry_after_s);

// What the fault makes of a query.
ServiceAnswer faulty(const Fault& fault, const Plan& plan);

}  // namespace retsu::simulators::hardcover
