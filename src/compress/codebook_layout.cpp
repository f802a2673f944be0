#include "codebook_layout.hpp"

#include <fmt/format.h>

#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

const char* prefix(const CodebookUse& use, Index exchange) {
  return use.published == Published::attention_output && exchange > 0 ? "nb." : "";
}

}  // namespace

Index group_width(const model::ModelConfig& config, const CodebookUse& use) {
  require_input(use.groups >= 1 && config.hidden % use.groups == 0,
                "--groups={}: the {} columns of {} cannot be divided equally (a divisor is needed)",
                use.groups, config.hidden, config.name);
  return config.hidden / use.groups;
}

std::string codebook_name(const CodebookUse& use, Index exchange, Index group) {
  if (use.published == Published::block_output)
    return fmt::format("astra.g{}.codebook.{}.{}", use.groups, exchange, group);
  TW_REQUIRE(group == 0, "group {} of a codebook without groups", group);
  return fmt::format("{}codebook.{}", prefix(use, exchange), exchange);
}

std::string hierarchy_name(const CodebookUse& use, Index exchange) {
  TW_REQUIRE(use.published != Published::block_output, "codebooks of block outputs have one level");
  return fmt::format("{}hierarchy.{}", prefix(use, exchange), exchange);
}

std::string index_tables_name(const CodebookUse& use, Index exchange, Index group, int level) {
  if (use.published == Published::block_output)
    return fmt::format("astra.g{}.coding.{}.{}", use.groups, exchange, group);
  TW_REQUIRE(group == 0, "group {} of a codebook without groups", group);
  return fmt::format("{}coding.{}.{}", prefix(use, exchange), exchange, level);
}

bool is_index_tables_name(std::string_view name) {
  return name.starts_with("coding.") || name.starts_with("nb.coding.") ||
         (name.starts_with("astra.g") && name.find(".coding.") != std::string_view::npos);
}

std::string key_buffer_name(Index exchange) {
  return fmt::format("buffer.k.{}", exchange);
}

std::string value_buffer_name(Index exchange) {
  return fmt::format("buffer.v.{}", exchange);
}

}  // namespace thinwire::compress
