#pragma once
#include <boost/program_options/option.hpp>
#include <boost/program_options/options_description.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/harness/run_spec.hpp"

namespace thinwire::cli {

/// What a command accepts.
class OptionParser {
 public:
  /// `usage` is shown by --help above the options: how to call, what it does, examples.
  explicit OptionParser(std::string usage) : usage_(std::move(usage)) {}

  /// One flag a field of RunSpec, but for those of eval.
  void add_run_fields();
  /// Some of them. `defaults` are values that they have here when nobody gives one, where a run's
  /// default has no meaning; parse() puts them in front of the given ones.
  void add_run_fields(std::span<const std::string_view> names, harness::KeyValues defaults = {});
  /// A flag of the command's own; `argument` is empty for a switch.
  void add(const std::string& name, const std::string& argument, const std::string& help);
  /// Accept one word more without "--", to be found under this name.
  void allow_word(const std::string& name) { words_.push_back(name); }

  struct Parsed {
    bool is_help = false;                    ///< --help was given and has been printed
    harness::KeyValues fields;               ///< of RunSpec, in the order given
    std::map<std::string, std::string> own;  ///< the command's own; switches hold "on"
    bool has(const std::string& name) const { return own.contains(name); }
    /// Whether a switch of the command's own was given, and not as "off".
    bool is_on(const std::string& name) const;
    /// Throws InputError when it was not given.
    const std::string& require(const std::string& name) const;
  };
  /// Throws InputError for an unknown flag (with a suggestion) or a flag without its value. A
  /// switch takes the word behind it only if that is on or off.
  Parsed parse(const std::vector<std::string>& words) const;

 private:
  using Description = boost::program_options::options_description;
  void describe(Description& description) const;
  std::vector<std::string> switches() const;  ///< with their dashes
  std::string help_of(const harness::Field& field) const;
  /// Of a field, where it differs from a run's; else null.
  const std::string* default_of(std::string_view name) const;
  Parsed sort(const std::vector<boost::program_options::option>& options) const;
  void print_help() const;

  struct Own {
    std::string name, argument, help;
  };
  std::string usage_;
  std::vector<std::string> words_;
  std::vector<Own> own_;
  std::vector<const harness::Field*> fields_;
  harness::KeyValues defaults_;
};

}  // namespace thinwire::cli
