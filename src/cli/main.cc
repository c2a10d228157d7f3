#include "cli/program.h"

int main(int argc, char** argv) { return retsu::cli::run(argc, argv); }
