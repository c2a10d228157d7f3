#include <fmt/format.h>

#include <map>
#include <set>

#include "broker/codec.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session.h"

namespace retsu::cli {
namespace {

// The tasks around one, each under the first that it waits for. A task that waits for several is
// drawn once with all that follows it, and named where it turns up again.
class Drawing {
 public:
  Drawing(Screen& screen, const GraphReply& graph, std::string asked)
      : screen_(screen), asked_(std::move(asked)) {
    for (const GraphNode& node : graph.nodes) nodes_.emplace(node.id, &node);
    for (const GraphEdge& edge : graph.edges) {
      next_[edge.from].push_back(&edge);
      waiting_.insert(edge.to);
    }
    for (const GraphNode& node : graph.nodes) {
      if (!waiting_.contains(node.id)) roots_.push_back(node.id);
    }
  }

  void draw() {
    for (const std::string& root : roots_) draw(root, nullptr, "", "");
  }

 private:
  void draw(const std::string& id, const GraphEdge* edge, const std::string& stem,
            const std::string& under) {
    const bool again = !drawn_.insert(id).second;
    screen_.line(stem + label(id, edge, again));
    if (again) return;
    const auto found = next_.find(id);
    if (found == next_.end()) return;
    for (const GraphEdge* each : found->second) {
      const bool last = each == found->second.back();
      draw(each->to, each, under + (last ? "└─ " : "├─ "), under + (last ? "   " : "│  "));
    }
  }

  [[nodiscard]] std::string label(const std::string& id, const GraphEdge* edge, bool again) const {
    const auto found = nodes_.find(id);
    std::string text = screen_.styled(id == asked_ ? Style::kBold : Style::kPlain, printable(id));
    if (found == nodes_.end() || found->second->missing) {
      text += " " + screen_.styled(Style::kYellow, "not pushed yet");
    } else {
      const State state = found->second->state;
      text += " " + screen_.styled(style_of(state), name_of(state));
      if (!found->second->type.empty()) text += " " + printable(found->second->type);
    }
    if (edge != nullptr && edge->when == When::kSettled) text += " (when settled)";
    if (again) text += " (see above)";
    if (id == asked_ && !again) text += " ◀";
    return text;
  }

  Screen& screen_;
  const std::string asked_;
  std::map<std::string, const GraphNode*> nodes_;
  std::map<std::string, std::vector<const GraphEdge*>> next_;
  std::set<std::string> waiting_;
  std::vector<std::string> roots_;
  std::set<std::string> drawn_;
};

}  // namespace

Action add_graph(Arguments& arguments) {
  auto id = std::make_shared<std::string>();
  arguments.option("TASK", *id, "Its id").required();
  return [id](Session& session) -> Result<int> {
    const auto graph = session.ask(Graph{.id = *id});
    if (!graph) return tl::unexpected(graph.error());
    if (session.screen().json()) {
      session.screen().line(to_json(Reply(*graph)));
      return 0;
    }
    // An alias is answered with the task that stands for it, which comes first.
    Drawing(session.screen(), *graph, graph->nodes.front().id).draw();
    if (graph->truncated) session.screen().note("there are more than can be shown");
    return 0;
  };
}

}  // namespace retsu::cli
