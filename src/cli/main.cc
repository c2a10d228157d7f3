#include <fcntl.h>

#include "base/sqlite.h"
#include "cli/program.h"

namespace {

// What is printed must not go into a file that happens to get the number of a closed stream.
void fill_standard_streams() {
  for (int file = 0; file <= 2; ++file) {
    if (::fcntl(file, F_GETFD) == -1) (void)::open("/dev/null", O_RDWR);
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_streams();
  retsu::sqlite::count_no_memory();
  return retsu::cli::run(argc, argv);
}
