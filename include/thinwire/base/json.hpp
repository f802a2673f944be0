#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>

#include "thinwire/base/json_fwd.hpp"

namespace thinwire {

/// null for infinities and NaN, which JSON does not have.
Json finite_or_null(double value);

/// Throws InputError that names the file and what is wrong with it.
Json read_json(const std::filesystem::path& file);

}  // namespace thinwire
