#include "cli/serve_program.h"

namespace retsu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

// On a directory, without a server.
class LibraryCommands : public CliTest {};

TEST_F(LibraryCommands, FilesOfEveryKindAreRead) {
  write("a.json", R"([{"title":"A","authors":["x","y"]},
                      {"title":"B","isbn13":"9784873113944","hardcoverId":7}])");
  write("b.ndjson", "{\"title\":\"C\"}\n\n{\"title\":\"D\",\"authors\":\"x; y\"}\n");
  write("c.csv", "\xEF\xBB\xBFtitle,authors\r\n\"E, with a \"\"comma\"\"\",\"x;y\"\r\nF,\r\n");
  EXPECT_EQ(done({"library", "import", path("a.json")}), "2 added, 0 there already, 0 rejected\n");
  EXPECT_EQ(done({"library", "import", path("b.ndjson")}),
            "2 added, 0 there already, 0 rejected\n");
  EXPECT_EQ(done({"library", "import", path("c.csv")}), "2 added, 0 there already, 0 rejected\n");
  EXPECT_EQ(done({"library", "import", "-", "--format", "csv", "--json"}, "title\nG\n"),
            "{\"created\":1,\"existing\":0,\"rejected\":0}\n");
  const std::string status = done({"library", "status", "--json"});
  EXPECT_EQ(value_in(status, "books"), "7");
  EXPECT_EQ(value_in(status, "unclaimed"), "6");
}

TEST_F(LibraryCommands, WhatIsExportedCanBeImported) {
  write("a.json", R"([{"title":"A, \"quoted\"","authors":["x","y"],"isbn13":"4873113946"},
                      {"title":"日本","hardcoverId":7,"hardcoverSlug":"s","publisher":"p\nq"}])");
  done({"library", "import", path("a.json")});
  for (const std::string file : {"out.csv", "out.ndjson"}) {
    EXPECT_EQ(done({"library", "export", path(file)}), "2 books exported\n");
    environment_["RETSU_URL"] = path("other-" + file);
    EXPECT_EQ(done({"library", "import", path(file)}), "2 added, 0 there already, 0 rejected\n");
    EXPECT_EQ(
        done({"library", "export", "-", "--format", "json"}),
        "{\"title\":\"A, \\\"quoted\\\"\",\"isbn13\":\"9784873113944\",\"authors\":[\"x\",\"y\"],"
        "\"hardcoverId\":null}\n"
        "{\"title\":\"日本\",\"authors\":[],\"hardcoverId\":7,\"hardcoverSlug\":\"s\","
        "\"publisher\":\"p\\nq\"}\n");
    environment_.erase("RETSU_URL");
  }
}

TEST_F(LibraryCommands, RejectedRowsAreToldAndKeptAndTheRestIsImported) {
  std::string text = "title,isbn13,hardcoverId\n";
  for (int i = 0; i < 30; ++i) text += "Book " + std::to_string(i) + ",978487311394" + "5,\n";
  text += "Good,9784873113944,\n,,\nToo,many,fields,here\nBad id,,seven\n";
  write("a.csv", text);
  const Ran ran = retsu({"library", "import", path("a.csv"), "--report", path("bad.ndjson")});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "1 added, 0 there already, 33 rejected\n");
  EXPECT_THAT(ran.err, HasSubstr("line 2: isbn13: has a wrong check digit"));
  EXPECT_THAT(ran.err, HasSubstr("more are in the report"));
  const auto rows = lines_of(read("bad.ndjson"));
  EXPECT_THAT(rows, SizeIs(33));
  EXPECT_THAT(rows[30], HasSubstr("title: must not be empty"));
  EXPECT_THAT(rows[31], HasSubstr("line 34"));
  EXPECT_THAT(rows[32], HasSubstr("hardcoverId"));
}

TEST_F(LibraryCommands, AFileOfSomethingElseChangesNothing) {
  const std::pair<std::string, std::string> files[] = {
      {"name,isbn13\nA,\n", "no column name"},
      {"title,title\nA,B\n", "twice"},
      {"isbn13\n1\n", "no column title"},
      {"", "no line of column names"},
  };
  for (const auto& [text, says] : files) {
    write("a.csv", text);
    const Ran ran = retsu({"library", "import", path("a.csv")});
    EXPECT_EQ(ran.status, 2) << text;
    EXPECT_THAT(ran.err, HasSubstr(says));
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(retsu({"library", "import", path("nowhere.csv")}).status, 2);
  EXPECT_EQ(retsu({"library", "import", path("a.csv"), "--report", "/nowhere/x"}).status, 2);
  EXPECT_EQ(retsu({"library", "import", path("a.csv"), "--format", "xml"}).status, 2);
  EXPECT_EQ(value_in(done({"library", "status", "--json"}), "books"), "0");
}

TEST_F(LibraryCommands, ABookIsAddedShownChangedAndRemoved) {
  const std::string added = done({"library", "add", "A", "--isbn", "4-87311-394-6", "--author", "x",
                                  "--author", "y", "--json"});
  const std::string id = value_in(added.substr(added.find('[')), "id");
  EXPECT_THAT(done({"library", "show", id}), HasSubstr("9784873113944"));
  EXPECT_THAT(done({"library", "set", id, "--title", "B", "--hardcover-id", "5"}), HasSubstr("5"));
  EXPECT_EQ(value_in(done({"library", "status", "--json"}), "unclaimed"), "0");
  done({"library", "set", id, "--hardcover-id", "none"});
  EXPECT_EQ(value_in(done({"library", "status", "--json"}), "unclaimed"), "1");
  EXPECT_THAT(lines_of(done({"library", "list", "--missing", "--json"})), SizeIs(1));
  EXPECT_EQ(retsu({"library", "set", id}).status, 2);
  EXPECT_EQ(retsu({"library", "set", id, "--hardcover-id", "x"}).status, 2);
  EXPECT_EQ(retsu({"library", "add", "C", "--isbn", "123"}).status, 2);
  EXPECT_EQ(retsu({"library", "show", "nobody"}).status, 3);
  EXPECT_EQ(done({"library", "rm", id}), id + " removed\n");
  EXPECT_EQ(retsu({"library", "rm", id}).status, 3);
}

TEST_F(LibraryCommands, UpdateNeedsAToken) {
  environment_["RETSU_HARDCOVER_KEY"] = "";
  const Ran ran = retsu({"library", "update"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("RETSU_HARDCOVER_KEY"));
}

// A server that nobody asks for books.
class LibraryServer : public ServeTest {};

TEST_F(LibraryServer, HasNoLibraryUntilSomebodyAsks) {
  serve();
  EXPECT_EQ(shell("ls " + path("q") + " | grep -c library").out, "0\n");
  EXPECT_EQ(done({"queues", "--json"}), "");
  done({"library", "add", "A"});
  EXPECT_EQ(shell("ls " + path("q/library.db") + " | wc -l").out, "1\n");
  EXPECT_THAT(lines_of(done({"queues", "--json"})), SizeIs(2));
  EXPECT_EQ(stop(SIGTERM), 0);
  serve({"--data", path("elsewhere")});
  EXPECT_EQ(value_in(done({"library", "status", "--json"}), "books"), "0");
  EXPECT_EQ(shell("ls " + path("elsewhere")).out.substr(0, 10), "library.db");
}

TEST_F(LibraryServer, ADirectoryThatItHoldsIsAskedThroughIt) {
  serve();
  environment_["RETSU_URL"] = path("q");
  const Ran ran = retsu({"library", "add", "A"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("which is asked instead"));
}

}  // namespace
}  // namespace retsu
