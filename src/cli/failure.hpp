#pragma once
#include <exception>
#include <string>

namespace thinwire::cli {

/// Exit statuses beside 0.
inline constexpr int kFailed = 1;    ///< the run failed
inline constexpr int kBadInput = 2;  ///< wrong usage or input

/// What an exception means to the user.
struct Failure {
  std::string message;  ///< one line; with the place in the source unless the input is at fault
  int status = kFailed;
};
Failure failure_of(const std::exception& exception);

}  // namespace thinwire::cli
