#include <fmt/format.h>

#include <fstream>

#include "apps/library/book_files.h"
#include "base/uuid.h"
#include "base/wall_clock.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/library.h"
#include "cli/options.h"
#include "cli/progress.h"

namespace retsu::cli {
namespace {

using namespace retsu::library;

constexpr std::int64_t kShownRefusals = 20;

struct Imported {
  std::int64_t created = 0;
  std::int64_t existing = 0;
  std::int64_t rejected = 0;
};
constexpr auto fields_of(std::type_identity<Imported>) {
  return List{Field{"created", &Imported::created, kAlwaysShown},
              Field{"existing", &Imported::existing, kAlwaysShown},
              Field{"rejected", &Imported::rejected, kAlwaysShown}};
}

struct Rejected {
  std::string place;
  std::string error;
};
constexpr auto fields_of(std::type_identity<Rejected>) {
  return List{Field{"place", &Rejected::place}, Field{"error", &Rejected::error}};
}

Result<BookFormat> format_given(const std::string& name, const std::string& file) {
  BookFormat format = format_of(file);
  if (auto read = read_word("--format", name, format); !read) return tl::unexpected(read.error());
  return format;
}

// Sends books a thousand at a time, and keeps account of what becomes of them.
class Import {
 public:
  Import(Door& door, Screen& screen, const std::string& report) : door_(door), screen_(screen) {
    if (!report.empty()) report_.open(report, std::ios::trunc);
    has_report_ = !report.empty();
  }
  [[nodiscard]] bool can_report() const { return !has_report_ || report_.good(); }

  void add(const std::string& place, Result<BookFields> book) {
    if (!book) return reject(place, book.error().message);
    places_.push_back(place);
    batch_.books.push_back(*std::move(book));
  }
  Status send_full() { return std::ssize(batch_.books) < kBatch ? Status() : send(); }
  Status send() {
    if (batch_.books.empty()) return {};
    batch_.partial = true;
    // More may have come than one request takes.
    for (std::size_t from = 0; from < batch_.books.size(); from += kBatch) {
      const auto to = std::min(batch_.books.size(), from + kBatch);
      CreateBooks part{.books = {batch_.books.begin() + static_cast<std::ptrdiff_t>(from),
                                 batch_.books.begin() + static_cast<std::ptrdiff_t>(to)},
                       .partial = true};
      const auto created = door_.ask(part, ids_.next(wall_clock()));
      if (!created) return tl::unexpected(created.error());
      for (std::size_t i = 0; i < created->books.size(); ++i) {
        const Created& one = created->books[i];
        if (one.error) {
          reject(places_[from + i], one.error->message);
        } else {
          ++(one.created ? counts_.created : counts_.existing);
        }
      }
    }
    batch_.books.clear();
    places_.clear();
    return {};
  }
  [[nodiscard]] const Imported& counts() const { return counts_; }

 private:
  void reject(const std::string& place, const std::string& error) {
    if (++counts_.rejected <= kShownRefusals) {
      screen_.note(fmt::format("{}: {}", place, printable(error)));
    } else if (counts_.rejected == kShownRefusals + 1) {
      screen_.note(has_report_ ? "more are in the report"
                               : "and more; --report FILE keeps all of them");
    }
    if (!has_report_) return;
    std::string line;
    append_json(line, Rejected{place, error});
    report_ << line << '\n';
  }

  Door& door_;
  Screen& screen_;
  std::ofstream report_;
  bool has_report_ = false;
  CreateBooks batch_;
  std::vector<std::string> places_;
  Imported counts_;
  UuidSource ids_;
};

struct FileOptions {
  std::string file;
  std::string format;
  std::string report;

  void add_format(Arguments& arguments, const char* help) {
    arguments.option("--format", format, help).type_name("json|csv");
  }
};

Result<int> import_books(Session& session, const FileOptions& options) {
  const auto format = format_given(options.format, options.file);
  if (!format) return tl::unexpected(format.error());
  const auto door = open_library(session);
  if (!door) return tl::unexpected(door.error());
  Screen& screen = session.screen();
  Import import(**door, screen, options.report);
  if (!import.can_report()) {
    return refuse(ErrorCode::kInvalid, fmt::format("cannot write {}", options.report));
  }
  BookReader reader(*format, [&](const std::string& place, Result<BookFields> book) {
    import.add(place, std::move(book));
  });
  Status done;
  {
    Progress progress("importing");
    done = read_pieces(options.file,
                       [&](std::string_view piece, std::int64_t at, std::int64_t whole) -> Status {
                         if (auto taken = reader.take(piece); !taken) return taken;
                         progress.at(at, whole);
                         return import.send_full();
                       });
    if (done) done = reader.end();
    if (done) done = import.send();
  }
  const Imported& counts = import.counts();
  std::string line;
  if (screen.json()) {
    append_json(line, counts);
  } else {
    line = fmt::format("{} added, {} there already, {} rejected", counts.created, counts.existing,
                       counts.rejected);
  }
  if (done || counts.created + counts.existing > 0) screen.line(line);
  if (!done) return tl::unexpected(done.error());
  return counts.rejected > 0 ? row_of(ErrorCode::kInvalid).exit_code : 0;
}

Result<int> export_books(Session& session, const FileOptions& options) {
  const auto format = format_given(options.format, options.file);
  if (!format) return tl::unexpected(format.error());
  const auto door = open_library(session);
  if (!door) return tl::unexpected(door.error());
  Screen& screen = session.screen();
  std::ofstream file;
  if (options.file != "-") {
    file.open(options.file, std::ios::trunc);
    if (!file) return refuse(ErrorCode::kInvalid, fmt::format("cannot write {}", options.file));
  }
  const auto write = [&](std::string text) {
    if (options.file != "-") {
      file << text;
      return;
    }
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    screen.line(text);
  };
  std::string text;
  if (*format == BookFormat::kCsv) {
    append_csv_row(text, book_columns());
    write(text);
  }
  const auto status = (*door)->ask(GetStatus{});
  Progress progress("exporting");
  std::int64_t count = 0;
  for (ListBooks list{.limit = kBatch}; !screen.gone();) {
    const auto page = (*door)->ask(list);
    if (!page) return tl::unexpected(page.error());
    text.clear();
    for (const Book& book : page->books) {
      if (*format == BookFormat::kCsv) {
        append_csv_row(text, book_row(book.fields));
      } else {
        append_json(text, book.fields);
        text += '\n';
      }
    }
    count += std::ssize(page->books);
    if (!text.empty()) write(text);
    progress.at(count, status ? status->books : 0);
    if (!page->next_cursor) break;
    list.cursor = *page->next_cursor;
  }
  if (options.file == "-") return 0;
  file.flush();
  if (!file) return refuse(ErrorCode::kStorageFull, fmt::format("cannot write {}", options.file));
  screen.line(screen.json() ? fmt::format(R"({{"exported":{}}})", count)
                            : fmt::format("{} books exported", count));
  return 0;
}

}  // namespace

Action add_library_import(Arguments& arguments) {
  auto options = std::make_shared<FileOptions>();
  arguments
      .option("FILE", options->file,
              "A JSON array, an object a line, or CSV with the columns title, isbn13, authors "
              "(; between), hardcoverId and others of a book; - is standard input. A book that "
              "is there already, by its ISBN or else by title and authors, stays as it is")
      .required();
  options->add_format(arguments, "What it is: csv if it ends so, else json");
  arguments.option("--report", options->report, "Keep what is rejected, and why, in this file")
      .type_name("FILE");
  return [options](Session& session) { return import_books(session, *options); };
}

Action add_library_export(Arguments& arguments) {
  auto options = std::make_shared<FileOptions>();
  arguments.option("FILE", options->file, "Where to; - is standard output").required();
  options->add_format(arguments, "As what: csv if it ends so, else json, an object a line");
  return [options](Session& session) { return export_books(session, *options); };
}

}  // namespace retsu::cli
