#include "thinwire/strategy/prism.hpp"

#include <cmath>

#include "thinwire/compress/segment_means.hpp"

namespace thinwire::strategy {
namespace {

using compress::Scaling;

}  // namespace

PrismExchange::MeansRoom PrismExchange::room_for(const StrategyOptions& options,
                                                 std::span<const Layout> layouts) {
  MeansRoom room;
  for (const Layout& layout : layouts) {
    const Index segments = segments_for(options, layout.tokens(), layout.devices());
    for (const Slice& slice : layout.slices) compress::segment_lengths(slice.size, segments);
    const bool repeats = options.scaling == Scaling::duplicate;
    room.published = std::max(room.published, segments);
    room.received = std::max(room.received, layout.devices() * segments);
    room.repeated = std::max(room.repeated, repeats ? layout.tokens() : 0);
    room.remote =
        std::max(room.remote, repeats ? layout.remote_tokens() : (layout.devices() - 1) * segments);
  }
  return room;
}

Index segments_for(const StrategyOptions& options, Index tokens, int devices) {
  if (options.segments > 0) return options.segments;
  return compress::segments_for_rate(tokens, devices, options.compression_rate);
}

PrismExchange::PrismExchange(const model::Model& model, const DeviceRole& role,
                             const StrategyOptions& options, std::span<const Layout> layouts)
    : PrismExchange(model, role, options, room_for(options, layouts)) {}

PrismExchange::PrismExchange(const model::Model& model, const DeviceRole& role,
                             const StrategyOptions& options, const MeansRoom& room)
    : RowExchange(model, role, options.payload, room), options_(options) {
  const Index columns = std::max(room.received, room.repeated);
  table_.reserve(static_cast<std::size_t>(room.received));
  means_ = Matrix<float>(room.published, model.config().hidden, role.memory);
  repeated_ = Matrix<float>(room.repeated, model.config().hidden, role.memory);
  log_counts_ = Matrix<float>(1, columns, role.memory);
  last_ = Matrix<std::int32_t>(1, columns, role.memory);
}

void PrismExchange::on_begin(const Layout& layout, const model::ModelInput& input) {
  segments_ = segments_for(options_, layout.tokens(), layout.devices());
  real_ = {};
  if (!input.real.empty())
    real_ = std::span(input.real)
                .subspan(static_cast<std::size_t>(layout.local().begin),
                         static_cast<std::size_t>(layout.local().size));
  list_segments(layout, input);
  describe_columns();
  local_ = options_.scaling == Scaling::duplicate ? layout.local()
                                                  : Slice{layout.device * segments_, segments_};
}

void PrismExchange::list_segments(const Layout& layout, const model::ModelInput& input) {
  table_.clear();
  for (const Slice& slice : layout.slices)
    for (Index s = 0; s < segments_; ++s) {
      Slice tokens = compress::segment_rows(slice.size, segments_, s);
      tokens.begin += slice.begin;
      Index real = 0;
      for (Index token = tokens.begin; token < tokens.end(); ++token)
        real += input.is_real(token) ? 1 : 0;
      table_.push_back({tokens, real});
    }
}

/// A column per mean, weighted as scaling says; for duplicates a column per token, of which those
/// beyond the real count are hidden.
void PrismExchange::describe_columns() {
  for (std::size_t s = 0; s < table_.size(); ++s) {
    const Segment& segment = table_[s];
    const auto count = static_cast<float>(segment.real_tokens);
    if (options_.scaling == Scaling::duplicate)
      for (Index i = 0; i < segment.tokens.size; ++i)
        describe_column(segment.tokens.begin + i, segment,
                        std::log(i < segment.real_tokens ? 1.0F : 0.0F));
    else
      describe_column(static_cast<Index>(s), segment,
                      std::log(options_.scaling == Scaling::on ? count : std::min(count, 1.0F)));
  }
}

void PrismExchange::describe_column(Index column, const Segment& segment, float log_count) {
  log_counts_(0, column) = log_count;
  last_(0, column) = static_cast<std::int32_t>(segment.tokens.end() - 1);
}

fabric::Payload PrismExchange::encode(Index exchange, MatrixView<const float> rows,
                                      fabric::Fabric& fabric) {
  const MatrixView<float> means = means_.first(segments_);
  fabric::Payload payload;
  fabric.compute({"segment means", static_cast<int>(exchange)}, [&](Operations&) {
    compress::segment_means(rows, real_, means);
    payload.bytes = payload_of(means);
  });
  return payload;
}

RowExchange::Columns PrismExchange::columns() {
  const auto means = received(static_cast<Index>(table_.size()));
  const bool repeats = options_.scaling == Scaling::duplicate;
  if (repeats) repeat_means();
  return {.rows = repeats ? std::as_const(repeated_).first(table_.back().tokens.end()) : means,
          .log_counts = std::as_const(log_counts_).view().row(0),
          .last = std::as_const(last_).view().row(0),
          .local = local_};
}

void PrismExchange::repeat_means() {
  const auto means = received(static_cast<Index>(table_.size()));
  for (std::size_t s = 0; s < table_.size(); ++s)
    for (Index token = table_[s].tokens.begin; token < table_[s].tokens.end(); ++token)
      std::ranges::copy(means.row(static_cast<Index>(s)), repeated_.view().row(token).begin());
}

}  // namespace thinwire::strategy
