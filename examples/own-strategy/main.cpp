// thinwire with one strategy more: every command of `thinwire`, and --strategy halfrate.
#include "halfrate.hpp"
#include "thinwire/cli/program.hpp"
#include "thinwire/harness/own_strategy.hpp"

int main(int argc, char** argv) {
  const thinwire::harness::OwnStrategy halfrate(
      {.name = "halfrate",
       .summary = "tokens split, every second row exchanged",
       .make = halfrate::make},
      halfrate::predict);
  return thinwire::cli::run_program(argc, argv);
}
