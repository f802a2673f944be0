#include "failure.hpp"

#include <fmt/format.h>

#include "thinwire/base/error.hpp"

namespace thinwire::cli {

Failure failure_of(const std::exception& exception) {
  if (const auto* input = dynamic_cast<const InputError*>(&exception))
    return {input->what(), kBadInput};
  const auto* error = dynamic_cast<const Error*>(&exception);
  if (error != nullptr && !error->where().empty())
    return {fmt::format("{} [{}]", error->what(), error->where()), kFailed};
  return {exception.what(), kFailed};
}

}  // namespace thinwire::cli
