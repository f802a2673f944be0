#pragma once
#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

namespace thinwire {

/// Something went wrong while running. what() is one line for people; where() names the broken
/// condition and its place in the source, for a bug report.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, std::string where = {})
      : std::runtime_error(what), where_(std::move(where)) {}
  const std::string& where() const { return where_; }

 private:
  std::string where_;
};

/// The user's options, files or environment are at fault: exit status 2, no source location.
class InputError : public Error {
 public:
  using Error::Error;
};

template <class... Args>
[[noreturn]] void fail(const char* condition, std::source_location where,
                       fmt::format_string<Args...> text, Args&&... args) {
  throw Error(fmt::format(text, std::forward<Args>(args)...),
              fmt::format("{} is false, {}:{}", condition, where.file_name(), where.line()));
}

/// Throws InputError with the formatted text unless `condition` holds.
template <class... Args>
void require_input(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) throw InputError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace thinwire

/// Always on; a macro because it quotes the condition.
#define TW_REQUIRE(condition, ...) \
  ((condition) ? void()            \
               : ::thinwire::fail(#condition, std::source_location::current(), __VA_ARGS__))
