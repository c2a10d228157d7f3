#pragma once

#include <string>

namespace CLI {
class App;
}

namespace retsu::cli {

// The whole program: reads the command line, does what it says, answers the exit status of the
// error table (0: done).
int run(int argc, char** argv);

}  // namespace retsu::cli
