#include <fmt/format.h>

#include "command.hpp"
#include "options.hpp"
#include "thinwire/harness/catalogue.hpp"

namespace thinwire::cli {

int list_command(const Arguments& arguments) {
  const OptionParser parser(
      "usage: thinwire list\n\n"
      "Lists what options can name: models, strategies, topologies and clocks.\n");
  if (parser.parse(arguments.rest).is_help) return 0;
  for (const harness::CatalogueSection& section : harness::catalogue()) {
    fmt::print("{}:\n", section.title);
    for (const auto& [name, summary] : section.entries) fmt::print("  {:<18} {}\n", name, summary);
    fmt::print("\n");
  }
  return 0;
}

}  // namespace thinwire::cli
