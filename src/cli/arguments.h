// What a command can be given: options, flags and operands. The parser behind it takes seconds to
// compile; commands need not know it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace retsu::cli {

// One of them. Each call answers itself, so that calls chain.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  Argument type_name(const std::string& name);
  Argument required();
  Argument shows_default();
  Argument hidden();     // from the help
  Argument once_each();  // may be given again and again, with one value each time
  Argument split_at(char delimiter);
  Argument between(std::int64_t least, std::int64_t most);
  Argument one_of(const std::vector<std::string>& words);
  Argument variable(const std::string& name);  // of the environment, that says the same
  Argument excludes(Argument other);
  Argument excludes(const std::string& other);
  Argument needs(Argument other);

 private:
  CLI::Option* option_;
};

// Those of one command. What they are read into must outlive the reading of the command line.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(app) {}

  // The name of an operand has no dashes. For the types that arguments.cc lists.
  template <class Value>
  Argument option(const std::string& name, Value& value, const std::string& help);
  Argument flag(const std::string& name, bool& value, const std::string& help);
  Argument list(const std::string& name, std::vector<std::string>& values,
                const std::string& help) {
    return option(name, values, help).once_each();
  }

 private:
  CLI::App& app_;
};

}  // namespace retsu::cli
