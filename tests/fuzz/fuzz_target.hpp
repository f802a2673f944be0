#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "thinwire/base/error.hpp"

// A fuzz target is one source file that defines LLVMFuzzerTestOneInput. libFuzzer calls it with
// inputs that it invents (preset `fuzz`), replay_main.cpp with the files of the corpus (everywhere
// else). What a target lets escape, an exception of another kind above all, is a finding.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace thinwire::fuzz {

/// Runs `parse`; a refusal that says what is wrong is a right answer to a wrong input.
/// Returns whether the input was taken.
template <class Parse>
bool is_taken(Parse&& parse) {
  try {
    parse();
    return true;
  } catch (const InputError&) {
    return false;
  }
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process: unlike an exception it cannot be taken for a refusal.
inline void require(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace thinwire::fuzz
