#pragma once
#include <map>
#include <string>
#include <string_view>

#include "thinwire/base/error.hpp"
#include "thinwire/harness/codebook_training.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {

/// Options of a command that has no RunSpec, by name without dashes.
class GivenOptions {
 public:
  explicit GivenOptions(const std::map<std::string, std::string>& values) : values_(values) {}

  const std::string& require(const std::string& name) const {
    const auto found = values_.find(name);
    require_input(found != values_.end(), "--{} is needed", name);
    return found->second;
  }
  /// Calls read(text) where the option was given; its complaints get the option's name.
  template <class Read>
  void with(const std::string& name, Read&& read) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    try {
      read(std::string_view(found->second));
    } catch (const InputError& error) {
      throw InputError(fmt::format("--{}={}: {}", name, found->second, error.what()));
    }
  }
  /// A whole number of at least `least`.
  template <class T>
  void integer(const std::string& name, T& value, long long least = 1) const {
    with(name, [&](std::string_view text) {
      const long long read = parse_integer(text);
      require_input(read >= least, "at least {} is needed", least);
      value = static_cast<T>(read);
    });
  }
  bool is_on(const std::string& name) const {
    const auto found = values_.find(name);
    return found != values_.end() && (found->second == "on" || found->second == "true");
  }
  /// "0..999", or one number.
  void samples(const std::string& name, SampleRange& range) const;

 private:
  const std::map<std::string, std::string>& values_;
};

}  // namespace thinwire::harness
