#include "thinwire/fabric/progress_board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <vector>

namespace thinwire::fabric {
namespace {

/// Phases in which a rank waits for others (Fabric, VirtualFabric).
constexpr std::array<std::string_view, 3> kWaits = {"begin", "wait", "turn"};

bool waits(const ProgressRow& row) {
  return std::ranges::find(kWaits, row.name()) != kWaits.end();
}

/// Stopped by a signal or a debugger; a look into /proc, which says "pid (command) state ...".
bool is_stopped(const ProgressRow& row) {
  std::ifstream file(fmt::format("/proc/{}/stat", row.process()));
  std::string text;
  std::getline(file, text);
  const std::size_t command_end = text.rfind(')');
  if (command_end == std::string::npos || command_end + 2 >= text.size()) return false;
  const char state = text[command_end + 2];
  return state == 'T' || state == 't';
}

std::string describe(const ProgressRow& row, std::string_view remark) {
  return fmt::format("rank {}{} in '{}' of layer {}", row.rank(), remark, row.name(), row.layer());
}

}  // namespace

std::int64_t steady_now_ns() {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_boot).count();
}

void ProgressRow::report(std::string_view name, int layer) {
  // The parts need not be read together: a mixed message is late by less than the limit anyway.
  std::array<std::uint64_t, 3> text{};
  std::memcpy(text.data(), name.data(), std::min(name.size(), sizeof(text) - 1));
  for (std::size_t i = 0; i < text.size(); ++i) name_[i].store(text[i], std::memory_order_relaxed);
  layer_.store(layer, std::memory_order_relaxed);
  since_ns_.store(steady_now_ns(), std::memory_order_release);
}

void ProgressRow::sign(int rank, int process) {
  rank_ = rank;
  process_ = process;
}

std::string ProgressRow::name() const {
  std::array<std::uint64_t, 3> text{};
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = name_[i].load(std::memory_order_relaxed);
  const auto* const characters = reinterpret_cast<const char*>(text.data());
  return {characters, ::strnlen(characters, sizeof(text))};
}

std::int64_t ProgressBoard::latest_ns() const {
  return std::ranges::max_element(rows, {}, &ProgressRow::since_ns)->since_ns();
}

std::string ProgressBoard::culprit() const {
  std::vector<const ProgressRow*> active;
  for (const ProgressRow& row : rows)
    if (row.takes_part()) active.push_back(&row);
  if (active.empty()) return "nobody";
  const auto stopped = std::ranges::find_if(active, [](auto* row) { return is_stopped(*row); });
  if (stopped != active.end()) return describe(**stopped, " (stopped)");
  const auto busy = std::ranges::find_if_not(active, [](auto* row) { return waits(*row); });
  if (busy != active.end()) return describe(**busy, "");
  return describe(**std::ranges::min_element(
                      active, {}, [](const ProgressRow* row) { return row->since_ns(); }),
                  "");
}

}  // namespace thinwire::fabric
