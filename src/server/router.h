#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/exchange.h"

namespace retsu::server {

// A row of what a server answers to.
struct Route {
  std::string_view method;
  std::string_view path;       // a segment in braces takes anything
  std::optional<Scope> scope;  // none: open to all
  std::size_t body_limit = 0;
  std::function<void(const std::shared_ptr<Exchange>&)> serve;
  // For bodies that are read while they come: answers one, or none if this body is not such a one.
  std::function<Result<std::shared_ptr<BodyReader>>(const std::shared_ptr<Exchange>&)> read_body =
      nullptr;
  bool changes = false;  // something, whatever the method says
};

class Router {
 public:
  void add(Route route);

  struct Match {
    const Route* route;  // until the next add
    PathFields fields;
  };
  // Refused: `not_found`, whose details name the methods that the path has, if it has any.
  [[nodiscard]] Result<Match> find(std::string_view method, std::string_view path) const;

  [[nodiscard]] const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  std::vector<std::vector<std::size_t>> by_length_;  // of the path, in segments
};

}  // namespace retsu::server
