#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"

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
  if (argument.empty())
    value->implicit_value("on", "")->value_name("");
  else
    value->value_name(std::string(argument));
  description.add_options()(std::string(name).c_str(), value, std::string(help).c_str());
}

}  // namespace

void OptionParser::add_run_fields() {
  has_run_fields_ = true;
}

void OptionParser::add(const std::string& name, const std::string& argument,
                       const std::string& help) {
  own_.push_back({name, argument, help});
}

OptionParser::Parsed OptionParser::parse(const std::vector<std::string>& words) const {
  po::options_description description;
  for (const Own& own : own_) add_option(description, own.name, own.argument, own.help);
  if (has_run_fields_)
    for (const harness::Field& field : harness::run_fields())
      add_option(description, field.name, field.argument, field.help);
  description.add_options()("help", "");

  Parsed parsed;
  try {
    const po::parsed_options found =
        po::command_line_parser(words).options(description).style(kStyle).run();
    for (const po::option& option : found.options) {
      if (option.string_key == "help") {
        print_help();
        parsed.is_help = true;
        return parsed;
      }
      if (option.position_key >= 0) {
        require_input(!word_.empty() && !parsed.has(word_), "unexpected word '{}'",
                      option.value.front());
        parsed.own[word_] = option.value.front();
        continue;
      }
      const std::string value = option.value.empty() ? "on" : option.value.front();
      const bool is_own = std::ranges::find(own_, option.string_key, &Own::name) != own_.end();
      if (is_own)
        parsed.own[option.string_key] = value;
      else
        parsed.fields.emplace_back(option.string_key, value);
    }
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
  return parsed;
}

void OptionParser::print_help() const {
  po::options_description description("options", 100, 55);
  for (const Own& own : own_) add_option(description, own.name, own.argument, own.help);
  if (has_run_fields_)
    for (const harness::Field& field : harness::run_fields())
      add_option(description, field.name, field.argument, field.help);
  std::ostringstream text;
  text << description;
  fmt::print("{}\n{}", usage_, text.str());
}

const std::string& OptionParser::Parsed::require(const std::string& name) const {
  const auto found = own.find(name);
  require_input(found != own.end(), "--{} is needed", name);
  return found->second;
}

}  // namespace thinwire::cli
