#include "cli/store_server.h"

#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "broker/embedded/store_files.h"

namespace retsu::cli {
namespace {

std::string note_file(const std::string& directory) { return directory + embedded::kServerFile; }

}  // namespace

std::string tokens_file(const std::string& directory) { return directory + "/tokens.jsonl"; }

// A note for people and programs: without it they are told who holds the store, and nothing more.
ServerNote::ServerNote(const std::string& directory, const std::string& url)
    : path_(note_file(directory)) {
  (void)replace_file(path_, url + "\n");
}

ServerNote::~ServerNote() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

std::optional<std::string> server_of(const std::string& directory) {
  std::ifstream file(note_file(directory));
  std::string url;
  if (!std::getline(file, url) || url.empty()) return std::nullopt;
  return url;
}

}  // namespace retsu::cli
