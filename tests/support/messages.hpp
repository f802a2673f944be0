#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "thinwire/base/error.hpp"

namespace thinwire::test {

/// The message of the InputError that `f` throws, or "" when it throws none.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// The message of the InputError that `f` throws; a failure and "" when it throws none.
template <class F>
std::string input_error(F&& f) {
  std::string message = message_of(f);
  if (message.empty()) ADD_FAILURE() << "no InputError was thrown";
  return message;
}

inline testing::AssertionResult mentions(const std::string& message,
                                         std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (message.find(word) == message.npos)
      return testing::AssertionFailure() << "\"" << word << "\" is not in: " << message;
  return testing::AssertionSuccess();
}

}  // namespace thinwire::test
