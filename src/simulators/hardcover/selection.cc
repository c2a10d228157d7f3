#include "simulators/hardcover/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace retsu::simulators::hardcover {
namespace {

constexpr std::string_view kRoot = "query_root";
constexpr std::string_view kTypeName = "__typename";

struct SchemaRow {
  std::string_view type;
  std::string_view field;
  std::string_view of;  // the type of objects; empty: a plain value
};
constexpr SchemaRow kSchema[] = {
    {kRoot, "editions", "editions"},
    {"editions", "id", ""},
    {"editions", "isbn_13", ""},
    {"editions", "title", ""},
    {"editions", "book", "books"},
    {"books", "id", ""},
    {"books", "title", ""},
    {"books", "slug", ""},
    {"books", "contributions", "contributions"},
    {"contributions", "author", "authors"},
    {"authors", "id", ""},
    {"authors", "name", ""},
    {"authors", "slug", ""},
};

const SchemaRow* row_of(std::string_view type, std::string_view field) {
  static constexpr SchemaRow kOfAll = {"", kTypeName, ""};
  if (field == kTypeName && type != kRoot) return &kOfAll;
  for (const SchemaRow& row : kSchema) {
    if (row.type == type && row.field == field) return &row;
  }
  return nullptr;
}

tl::expected<void, SelectionFault> check(const std::vector<GraphqlField>& selection,
                                         std::string_view type, const std::string& path) {
  for (const GraphqlField& field : selection) {
    const std::string here = fmt::format("{}.selectionSet.{}", path, field.key);
    const SchemaRow* const row = row_of(type, field.name);
    const auto fail = [&](std::string message) {
      return tl::unexpected(SelectionFault{std::move(message), here});
    };
    if (row == nullptr) return fail(fmt::format("'{}' has no field '{}'", type, field.name));
    if (row->of.empty() && !field.selection.empty()) {
      return fail(fmt::format("'{}' is a plain value, nothing can be selected in it", field.name));
    }
    if (!row->of.empty() && field.selection.empty()) {
      return fail(fmt::format("'{}' needs a selection of its fields", field.name));
    }
    if (type != kRoot && !field.arguments.empty()) {
      return fail(fmt::format("'{}' takes no arguments", field.name));
    }
    if (auto below = check(field.selection, row->of, here); !below) return below;
  }
  return {};
}

// All that is known of something, from which fields are selected.
struct Node {
  struct Named;
  std::string_view type;
  std::vector<Named> fields;
};
struct Node::Named {
  std::string_view name;
  std::variant<std::int32_t, std::optional<std::string>, Node, std::vector<Node>> value;
};

struct Writer {
  JsonWriter& to;
  const std::vector<GraphqlField>& selection;

  void operator()(std::int32_t number) const { to.integer(number); }
  void operator()(const std::optional<std::string>& text) const { write_json(to, text); }
  void operator()(const Node& node) const {
    to.open_object();
    for (const GraphqlField& field : selection) {
      to.key(field.key);
      if (field.name == kTypeName) {
        to.string(node.type);
      } else {
        const auto found = std::ranges::find(node.fields, field.name, &Node::Named::name);
        std::visit(Writer{to, field.selection}, found->value);
      }
    }
    to.close_object();
  }
  void operator()(const std::vector<Node>& nodes) const {
    to.open_array();
    for (const Node& node : nodes) {
      to.element();
      (*this)(node);
    }
    to.close_array();
  }
};

}  // namespace

tl::expected<void, SelectionFault> check_selection(const std::vector<GraphqlField>& query) {
  return check(query, kRoot, "$");
}

void write_selected(JsonWriter& to, const Edition& edition,
                    const std::vector<GraphqlField>& selection) {
  using Text = std::optional<std::string>;
  std::vector<Node> contributions;
  for (const Author& author : edition.authors) {
    const Node of_author{
        "authors", {{"id", author.id}, {"name", Text(author.name)}, {"slug", Text(author.slug)}}};
    contributions.push_back({"contributions", {{"author", of_author}}});
  }
  const Node book{"books",
                  {{"id", edition.book_id},
                   {"title", Text(edition.title)},
                   {"slug", Text(edition.slug)},
                   {"contributions", std::move(contributions)}}};
  const Node whole{"editions",
                   {{"id", edition.id},
                    {"isbn_13", edition.isbn_13},
                    {"title", Text(edition.title)},
                    {"book", book}}};
  Writer{to, selection}(whole);
}

}  // namespace retsu::simulators::hardcover
