#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/http_client.h"
#include "base/url.h"
#include "base/wall_clock.h"
#include "broker/codec.h"
#include "broker/embedded/store_files.h"
#include "cli/commands.h"
#include "cli/json_lines.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/store_server.h"
#include "cli/table.h"
#include "cli/times.h"
#include "server/tokens.h"

namespace retsu::cli {
namespace {

using server::CreatedToken;
using server::NewToken;
using server::TokenInfo;
using server::Tokens;

struct TokenList {
  std::vector<TokenInfo> tokens;
};
constexpr auto fields_of(std::type_identity<TokenList>) {
  return List{Field{"tokens", &TokenList::tokens, kRequired}};
}

// Tokens of a store directory are in a file there, which a server notices; those of a server far
// away are asked for.
template <class T>
Result<T> ask_server(const Session& session, const std::string& url, std::string method,
                     const std::string& path, std::string body) {
  HttpClient client;
  HttpCall call{.method = std::move(method), .url = url + path, .body = std::move(body)};
  if (!session.token().empty()) {
    call.headers.emplace_back("Authorization", "Bearer " + session.token());
  }
  const auto answer = client.call(std::move(call));
  if (!answer) return refuse(ErrorCode::kUnavailable, url + ": " + answer.error().message);
  if (answer->status >= 300) {
    auto error = error_from_json(answer->body);
    if (!error) return refuse(ErrorCode::kUnavailable, url + " answers as no retsu does");
    return tl::unexpected(*std::move(error));
  }
  auto value = from_json<T>(answer->body, {.skip_unknown = true});
  if (!value) return refuse(ErrorCode::kUnavailable, url + ": " + value.error().message);
  return *std::move(value);
}

template <class T, class Local>
Result<T> ask(Session& session, std::string method, const std::string& path, std::string body,
              Local local) {
  const auto where = session.where();
  if (!where) return tl::unexpected(where.error());
  if (where->is_url) {
    return ask_server<T>(session, where->text, std::move(method), path, std::move(body));
  }
  if (auto made = embedded::make_directory(where->text); !made) return tl::unexpected(made.error());
  auto tokens = Tokens::open(tokens_file(where->text));
  if (!tokens) return tl::unexpected(tokens.error());
  return local(*tokens);
}

std::string names(const std::vector<Scope>& scopes) {
  std::vector<std::string_view> all;
  for (const Scope scope : scopes) all.push_back(name_of(scope));
  return fmt::format("{}", fmt::join(all, ","));
}

}  // namespace

Action add_token_create(Arguments& arguments) {
  struct Options {
    std::vector<std::string> scopes;
    NewToken token;
  };
  auto options = std::make_shared<Options>();
  arguments
      .list("--scope", options->scopes, "push, work, read or admin (which has all); again for more")
      .type_name("SCOPE")
      .required();
  arguments.list("--queue", options->token.queues, "Only this queue; again for more")
      .type_name("QUEUE");
  arguments.option("--user", options->token.user, "Only this user's tasks").type_name("USER");
  arguments.option("--name", options->token.name, "What it is for").type_name("TEXT");
  return [options](Session& session) -> Result<int> {
    NewToken token = options->token;
    for (const std::string& name : options->scopes) {
      const auto scope = value_of<Scope>(name);
      if (!scope) {
        return refuse(ErrorCode::kInvalid, "--scope: must be one of push, work, read, admin");
      }
      token.scopes.push_back(*scope);
    }
    const auto created =
        ask<CreatedToken>(session, "POST", "/v1/tokens", json_of(token),
                          [&](Tokens& tokens) { return tokens.create(token, wall_clock()); });
    if (!created) return tl::unexpected(created.error());
    Screen& screen = session.screen();
    if (screen.json()) {
      screen.line(json_of(*created));
    } else {
      screen.line(created->token);
      screen.note("this is shown once: keep it; clients take it from RETSU_TOKEN");
    }
    return 0;
  };
}

Action add_token_list(Arguments&) {
  return [](Session& session) -> Result<int> {
    const auto list = ask<TokenList>(session, "GET", "/v1/tokens", "", [](Tokens& tokens) {
      return Result<TokenList>(TokenList{tokens.list()});
    });
    if (!list) return tl::unexpected(list.error());
    Screen& screen = session.screen();
    Table table(screen, {"ID", "SCOPES", "QUEUES", "USER", "NAME", "CREATED", "REVOKED"});
    for (const TokenInfo& token : list->tokens) {
      if (screen.json()) {
        screen.line(json_of(token));
        continue;
      }
      table.add({token.id, names(token.scopes), fmt::format("{}", fmt::join(token.queues, ",")),
                 token.user, token.name, shown(screen, token.created_at),
                 token.revoked_at ? shown(screen, token.revoked_at) : std::string()});
    }
    table.print();
    return 0;
  };
}

Action add_token_revoke(Arguments& arguments) {
  auto id = std::make_shared<std::string>();
  arguments.option("ID", *id, "As retsu token list shows it").required();
  return [id](Session& session) -> Result<int> {
    const auto revoked =
        ask<TokenInfo>(session, "DELETE", "/v1/tokens/" + percent_encoded(*id), "",
                       [&](Tokens& tokens) { return tokens.revoke(*id, wall_clock()); });
    if (!revoked) return tl::unexpected(revoked.error());
    Screen& screen = session.screen();
    screen.line(screen.json() ? json_of(*revoked) : revoked->id + " is revoked");
    return 0;
  };
}

}  // namespace retsu::cli
