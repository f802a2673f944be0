#include <array>

#include "thinwire/base/text.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {
namespace {

constexpr std::array<std::string_view, 2> kClassTokenNames = {"partitioned", "replicated"};
constexpr std::array<std::string_view, 2> kIoNames = {"replicated", "terminal"};
constexpr std::array<std::string_view, 2> kCollectNames = {"last", "all"};
constexpr std::array<std::string_view, 3> kControlNames = {"fixed", "adaptive", "probing"};

}  // namespace

ClassToken parse_class_token(std::string_view name) {
  return static_cast<ClassToken>(name_index("class-token", name, kClassTokenNames));
}

std::string_view to_string(ClassToken class_token) {
  return kClassTokenNames[static_cast<std::size_t>(class_token)];
}

Io parse_io(std::string_view name) {
  return static_cast<Io>(name_index("io", name, kIoNames));
}

std::string_view to_string(Io io) {
  return kIoNames[static_cast<std::size_t>(io)];
}

LevelControl parse_level_control(std::string_view name) {
  for (const LevelControl control : {LevelControl::adaptive, LevelControl::probing})
    if (name == to_string(control)) return control;
  return LevelControl::fixed;
}

std::string_view to_string(LevelControl control) {
  return kControlNames[static_cast<std::size_t>(control)];
}

Collect parse_collect(std::string_view name) {
  return static_cast<Collect>(name_index("collect", name, kCollectNames));
}

std::string_view to_string(Collect collect) {
  return kCollectNames[static_cast<std::size_t>(collect)];
}

}  // namespace thinwire::strategy
