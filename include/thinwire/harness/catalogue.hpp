#pragma once
#include <string>
#include <utility>
#include <vector>

namespace thinwire::harness {

/// What can be named in a spec: for `list`.
struct CatalogueSection {
  std::string title;
  std::vector<std::pair<std::string, std::string>> entries;  ///< name, summary
};
std::vector<CatalogueSection> catalogue();

}  // namespace thinwire::harness
