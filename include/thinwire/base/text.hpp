#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thinwire {

/// 64-bit FNV-1a, the same on every platform.
std::uint64_t fnv1a(std::string_view text);
std::string to_hex(std::uint64_t value);  // 16 digits

/// The candidate nearest to `name` by edit distance, or "" when none is near (more than a third
/// of its letters differ).
std::string_view closest_name(std::string_view name, std::span<const std::string_view> candidates);

/// " (did you mean x?)" or "", to be appended to a message about an unknown name.
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

/// Where `name` stands among `known`. Throws InputError otherwise:
/// "<what>=<name> is unknown (did you mean x?); known: x, y".
std::size_t name_index(std::string_view what, std::string_view name,
                       std::span<const std::string_view> known);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string_view> parts, std::string_view separator);

}  // namespace thinwire
