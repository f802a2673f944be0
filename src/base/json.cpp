#include "thinwire/base/json.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

/// The library's message without its leading "[json.exception...] ".
std::string plain_message(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const auto end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace

Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json read_json(const std::filesystem::path& file) {
  std::error_code ignored;
  require_input(!std::filesystem::is_directory(file, ignored), "{} is a folder, not a JSON file",
                file.string());
  std::ifstream stream(file);
  require_input(stream.is_open(), "cannot read {}: {}", file.string(), std::strerror(errno));
  try {
    return Json::parse(stream);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{} is not valid JSON: {}", file.string(), plain_message(error)));
  }
}

}  // namespace thinwire
