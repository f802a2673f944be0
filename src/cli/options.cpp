#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::cli {
namespace {

namespace po = boost::program_options;

// Long options only, so that "--rate -5Mbps" reaches the parser of rates and its message.
constexpr int kStyle = po::command_line_style::allow_long |
                       po::command_line_style::long_allow_adjacent |
                       po::command_line_style::long_allow_next;

void add_option(po::options_description& description, std::string_view name,
                std::string_view argument, std::string_view help) {
  auto* value = po::value<std::string>();
  value->value_name(std::string(argument.empty() ? "[on|off]" : argument));
  description.add_options()(std::string(name).c_str(), value, std::string(help).c_str());
}

bool is_state(std::string_view word) {
  return word == "on" || word == "off" || word == "true" || word == "false";
}

/// A switch and its state in one word, so that a word behind it that is no state stays by itself:
/// "--dry-run SPEC.json" becomes "--dry-run=on SPEC.json".
std::vector<std::string> join_states(const std::vector<std::string>& words,
                                     const std::vector<std::string>& switches) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < words.size(); ++i) {
    joined.push_back(words[i] == "-h" ? "--help" : words[i]);
    if (std::ranges::find(switches, words[i]) == switches.end()) continue;
    const bool has_state = i + 1 < words.size() && is_state(words[i + 1]);
    joined.back() += "=" + (has_state ? words[++i] : std::string("on"));
  }
  return joined;
}

}  // namespace

void OptionParser::add_run_fields() {
  for (const harness::Field& field : harness::run_fields())
    if (!field.is_of_data) fields_.push_back(&field);
}

void OptionParser::add_run_fields(std::span<const std::string_view> names,
                                  harness::KeyValues defaults) {
  for (const std::string_view name : names) fields_.push_back(&harness::find_field(name));
  defaults_ = std::move(defaults);
}

const std::string* OptionParser::default_of(std::string_view name) const {
  const auto found = std::ranges::find_if(
      defaults_, [name](const auto& value) { return std::string_view(value.first) == name; });
  return found == defaults_.end() ? nullptr : &found->second;
}

/// With the value that the field has when nobody gives one.
std::string OptionParser::help_of(const harness::Field& field) const {
  const Json value = field.to_json(harness::RunSpec{});
  std::string text =
      value.is_null() || value.is_boolean() ? std::string() : harness::flag_text(value);
  if (const std::string* own = default_of(field.name)) text = *own;
  return text.empty() ? std::string(field.help) : fmt::format("{} (default {})", field.help, text);
}

void OptionParser::add(const std::string& name, const std::string& argument,
                       const std::string& help) {
  own_.push_back({name, argument, help});
}

OptionParser::Parsed OptionParser::parse(const std::vector<std::string>& words) const {
  po::options_description description;
  describe(description);
  description.add_options()("help", "");
  try {
    return sort(po::command_line_parser(join_states(words, switches()))
                    .options(description)
                    .style(kStyle)
                    .run()
                    .options);
  } catch (const po::unknown_option& error) {
    std::string name = error.get_option_name();
    name.erase(0, name.find_first_not_of('-'));
    std::vector<std::string_view> names;
    for (const auto& option : description.options()) names.push_back(option->long_name());
    throw InputError(
        fmt::format("unknown option --{}{}; --help lists them", name, suggestion(name, names)));
  } catch (const po::error& error) {
    throw InputError(error.what());
  }
}

OptionParser::Parsed OptionParser::sort(const std::vector<po::option>& options) const {
  Parsed parsed;
  for (const po::option& option : options) {
    if (option.string_key == "help") {
      print_help();
      parsed.is_help = true;
      return parsed;
    }
    const std::string& value = option.value.front();
    if (option.position_key >= 0) {
      const auto word =
          std::ranges::find_if(words_, [&](const std::string& name) { return !parsed.has(name); });
      require_input(word != words_.end(), "unexpected word '{}'{}", value,
                    value.starts_with('-') ? " (options begin with --)" : "");
      parsed.own[*word] = value;
    } else if (const auto own = std::ranges::find(own_, option.string_key, &Own::name);
               own != own_.end()) {
      require_input(!own->argument.empty() || is_state(value), "--{}={}: a switch is on or off",
                    own->name, value);
      parsed.own[own->name] = value;
    } else {
      parsed.fields.emplace_back(option.string_key, value);
    }
  }
  for (const auto& [name, value] : defaults_)
    if (std::ranges::find(parsed.fields, name, &harness::KeyValues::value_type::first) ==
        parsed.fields.end())
      parsed.fields.emplace(parsed.fields.begin(), name, value);
  return parsed;
}

void OptionParser::describe(po::options_description& description) const {
  for (const Own& own : own_) add_option(description, own.name, own.argument, own.help);
  for (const harness::Field* field : fields_)
    add_option(description, field->name, field->argument, help_of(*field));
}

std::vector<std::string> OptionParser::switches() const {
  std::vector<std::string> flags;
  for (const Own& own : own_)
    if (own.argument.empty()) flags.push_back("--" + own.name);
  for (const harness::Field* field : fields_)
    if (field->argument.empty()) flags.push_back(fmt::format("--{}", field->name));
  return flags;
}

void OptionParser::print_help() const {
  po::options_description description("options", 100, 55);
  describe(description);
  std::ostringstream text;
  if (!description.options().empty()) text << '\n' << description;
  fmt::print("{}{}", usage_, text.str());
}

bool OptionParser::Parsed::is_on(const std::string& name) const {
  const auto found = own.find(name);
  return found != own.end() && (found->second == "on" || found->second == "true");
}

const std::string& OptionParser::Parsed::require(const std::string& name) const {
  const auto found = own.find(name);
  require_input(found != own.end(), "--{} is needed", name);
  return found->second;
}

}  // namespace thinwire::cli
