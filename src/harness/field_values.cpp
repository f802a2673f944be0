#include "field_values.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace thinwire::harness {
namespace {

fabric::RateTrace read_rate_trace(const std::filesystem::path& file) {
  std::error_code ignored;
  require_input(std::filesystem::is_regular_file(file, ignored), "there is no file {}",
                file.string());
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  require_input(stream.good(), "{} cannot be read", file.string());
  try {
    return fabric::parse_rate_trace(file.filename().string(), text);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}, {}", file.string(), error.what()));
  }
}

}  // namespace

void parse_value(std::string_view text, double& value) {
  value = parse_number(text);
}

void parse_value(std::string_view text, bool& value) {
  const bool is_on = text.empty() || text == "on" || text == "true";
  require_input(is_on || text == "off" || text == "false", "a switch is on or off");
  value = is_on;
}

void parse_value(std::string_view text, Seconds& value) {
  value = Seconds::parse(text);
}
void parse_value(std::string_view text, Bytes& value) {
  value = Bytes::parse(text);
}
void parse_value(std::string_view text, PartitionPolicy& value) {
  value = parse_partition_policy(text);
}
void parse_value(std::string_view text, DType& value) {
  value = parse_dtype(text);
}

void parse_value(std::string_view text, Convention& value) {
  value = parse_convention(text);
}
void parse_value(std::string_view text, compress::Scaling& value) {
  value = compress::parse_scaling(text);
}
void parse_value(std::string_view text, compress::RowFormat& value) {
  value = compress::parse_row_format(text);
}
void parse_value(std::string_view text, compress::IndexBits& value) {
  value = compress::parse_index_bits(text);
}
void parse_value(std::string_view text, compress::IndexCoding& value) {
  value = compress::parse_index_coding(text);
}

void parse_value(std::string_view text, compress::Buffers& value) {
  value = compress::parse_buffers(text);
}
void parse_value(std::string_view text, strategy::ClassToken& value) {
  value = strategy::parse_class_token(text);
}
void parse_value(std::string_view text, strategy::Io& value) {
  value = strategy::parse_io(text);
}
void parse_value(std::string_view text, strategy::Collect& value) {
  value = strategy::parse_collect(text);
}
void parse_value(std::string_view text, fabric::Clock& value) {
  value = fabric::parse_clock(text);
}
void parse_value(std::string_view text, fabric::Topology& value) {
  value = fabric::parse_topology(text);
}

void parse_value(std::string_view text, fabric::PacketOverhead& value) {
  value = fabric::parse_overhead(text);
}

void parse_value(std::string_view text, fabric::OnLoss& value) {
  value = fabric::parse_on_loss(text);
}

void parse_value(std::string_view text, std::vector<std::vector<Rate>>& settings) {
  settings.clear();
  for (const std::string& part : split(text, ',')) {
    const auto range = parse_range(part);
    if (!range) {
      settings.push_back(fabric::parse_rates(part));
      continue;
    }
    require_input(range->spacing != Range::Spacing::step,
                  "a range of rates says how many (write {}..{}:log:10)", range->first,
                  range->last);
    const Rate first = Rate::parse(range->first), last = Rate::parse(range->last);
    require_input(!last.is_unlimited(), "a range of rates ends at a number, not at unlimited");
    for (const double value : range_values(*range, first.bit_per_s(), last.bit_per_s()))
      settings.push_back({Rate::bits_per_second(std::max(1.0, std::round(value)))});
    settings.back().front() = last;
  }
}

void parse_value(std::string_view text, std::vector<fabric::RateTrace>& traces) {
  traces.clear();
  for (const std::string& file : split(text, ',')) traces.push_back(read_rate_trace(file));
}

void parse_value(std::string_view text, SampleRange& value) {
  const std::optional<Range> given = parse_range(text);
  value.first = parse_integer(given ? std::string_view(given->first) : text);
  value.last = parse_integer(given ? std::string_view(given->last) : text);
  require_input((!given || given->spacing == Range::Spacing::step) && value.first >= 0 &&
                    value.last >= value.first,
                "samples FIRST..LAST, counted from 0 (write 0..999)");
}

Json value_json(const fabric::RateTrace& trace) {
  return trace.name();
}

Json value_json(const fabric::PacketOverhead& overhead) {
  return to_string(overhead);
}

Json value_json(const std::vector<std::vector<Rate>>& settings) {
  Json list = Json::array();
  for (const std::vector<Rate>& rates : settings) {
    std::string text;
    for (const Rate rate : rates) {
      if (!text.empty()) text += ':';
      text += exact_text(rate);
    }
    list.push_back(std::move(text));
  }
  return list;
}

}  // namespace thinwire::harness
