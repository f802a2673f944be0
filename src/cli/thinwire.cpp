#include "thinwire/cli/program.hpp"

int main(int argc, char** argv) {
  return thinwire::cli::run_program(argc, argv);
}
