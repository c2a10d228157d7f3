#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/session.h"

namespace retsu::cli {
namespace {

// Everything that can be typed after `retsu PATH`.
struct Node {
  std::string path;                                           // empty: the program itself
  std::vector<std::pair<std::string, std::string>> commands;  // and what they do
  struct Flag {
    std::string name;
    std::string help;
    bool takes_value;
    bool takes_file;
  };
  std::vector<Flag> flags;
  std::vector<std::string> words;  // that an operand can be
};

void add_nodes(const CLI::App& app, std::vector<Node>& nodes) {
  Node node;
  node.path = path_of(app);
  for (const CLI::Option* option : options_of(app)) {
    const std::string type = option->get_type_name();
    for (const std::string& name : option->get_lnames()) {
      node.flags.push_back({"--" + name, option->get_description(),
                            option->get_items_expected_max() > 0, type == "FILE" || type == "DIR"});
    }
  }
  if (node.path == "completion") node.words = {"bash", "zsh", "fish"};
  const auto inner = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* each : inner) {
    node.commands.emplace_back(each->get_name(), each->get_description());
    if (node.path.empty()) continue;
  }
  nodes.push_back(std::move(node));
  for (const CLI::App* each : inner) add_nodes(*each, nodes);
}

std::vector<Node> nodes_of(const Parser& parser) {
  std::vector<Node> nodes;
  add_nodes(parser.app, nodes);
  return nodes;
}

std::string words_of(const Node& node) {
  std::vector<std::string> words = node.words;
  for (const auto& [name, help] : node.commands) words.push_back(name);
  for (const Node::Flag& flag : node.flags) words.push_back(flag.name);
  return fmt::format("{}", fmt::join(words, " "));
}

// Within single quotes of a shell.
std::string shell_text(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out;
}

std::string bash(const std::vector<Node>& nodes) {
  std::string out = R"(# Completion of retsu for bash, made by `retsu completion bash`.
_retsu() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path="" i
  case $before in
    --at|--in|--file) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${COMP_WORDS[i]}" in
)";
  for (const Node& node : nodes) {
    if (!node.path.empty()) {
      const auto space = node.path.rfind(' ');
      out += fmt::format("      '{}') path='{}' ;;\n",
                         (space == std::string::npos ? " " : "") + node.path, node.path);
    }
  }
  out += "    esac\n  done\n  case $path in\n";
  for (const Node& node : nodes) {
    out += fmt::format("    '{}') COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n", node.path,
                       words_of(node));
  }
  out += "  esac\n}\ncomplete -o default -F _retsu retsu";
  return out;
}

// In zsh's lists of things to choose from, a colon ends the name.
std::string zsh_entry(std::string_view name, std::string_view help) {
  std::string out;
  for (const char c : name) out += c == ':' ? std::string("\\:") : std::string(1, c);
  return fmt::format("'{}:{}'", shell_text(out), shell_text(help));
}

std::string zsh(const std::vector<Node>& nodes) {
  std::string out = R"(#compdef retsu
# Completion of retsu for zsh, made by `retsu completion zsh`.
_retsu() {
  local path="" i
  local -a choices
  case ${words[CURRENT-1]} in
    --at|--in|--file) _files; return ;;
  esac
  for ((i = 2; i < CURRENT; ++i)); do
    case "$path ${words[i]}" in
)";
  for (const Node& node : nodes) {
    if (node.path.empty()) continue;
    const bool top = node.path.find(' ') == std::string::npos;
    out += fmt::format("      '{}') path='{}' ;;\n", (top ? " " : "") + node.path, node.path);
  }
  out += "    esac\n  done\n  case $path in\n";
  for (const Node& node : nodes) {
    out += fmt::format("    '{}') choices=(", node.path);
    for (const std::string& word : node.words) out += "\n      " + zsh_entry(word, "");
    for (const auto& [name, help] : node.commands) out += "\n      " + zsh_entry(name, help);
    for (const Node::Flag& flag : node.flags) out += "\n      " + zsh_entry(flag.name, flag.help);
    out += ") ;;\n";
  }
  out += "  esac\n  _describe retsu choices || _files\n}\ncompdef _retsu retsu";
  return out;
}

std::string fish(const std::vector<Node>& nodes) {
  std::string out =
      "# Completion of retsu for fish, made by `retsu completion fish`.\n"
      "function __retsu_path\n"
      "  set -l path ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$path $word\"\n";
  for (const Node& node : nodes) {
    if (node.path.empty()) continue;
    const bool top = node.path.find(' ') == std::string::npos;
    out += fmt::format("      case '{}'\n        set path '{}'\n", (top ? " " : "") + node.path,
                       node.path);
  }
  out += "    end\n  end\n  echo $path\nend\n";
  for (const Node& node : nodes) {
    const std::string when =
        fmt::format("complete -c retsu -n 'test (__retsu_path) = \"{}\"'", node.path);
    for (const std::string& word : node.words) out += fmt::format("{} -f -a {}\n", when, word);
    for (const auto& [name, help] : node.commands) {
      out += fmt::format("{} -f -a {} -d '{}'\n", when, name, shell_text(help));
    }
    for (const Node::Flag& flag : node.flags) {
      out += fmt::format("{} -l {}{} -d '{}'\n", when, flag.name.substr(2),
                         flag.takes_file    ? " -r -F"
                         : flag.takes_value ? " -x"
                                            : "",
                         shell_text(flag.help));
    }
  }
  out.pop_back();
  return out;
}

}  // namespace

std::string completion_for(const Parser& parser, std::string_view shell) {
  const std::vector<Node> nodes = nodes_of(parser);
  if (shell == "bash") return bash(nodes);
  return shell == "zsh" ? zsh(nodes) : fish(nodes);
}

Action add_completion(Arguments& arguments) {
  auto shell = std::make_shared<std::string>();
  arguments.option("SHELL", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  return [shell](Session& session) -> Result<int> {
    session.screen().line(completion_for(Parser(), *shell));
    return 0;
  };
}

}  // namespace retsu::cli
