#include "thinwire/model/embedding.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "weight_reader.hpp"

namespace thinwire::model {
namespace {

/// Copies tubelet `index` (by time, row, column) of a video [frames, channels, H, W] to `out` in
/// the order of the convolution's weights: channel, time, y, x. A picture is a video of one frame.
void gather_patch(std::span<const float> pixels, const ModelConfig& config, Index index,
                  std::span<float> out) {
  const Index size = config.image_size, patch = config.patch, side = size / patch;
  const Index frame0 = index / (side * side) * config.tubelet_frames;
  const Index y0 = index / side % side * patch, x0 = index % side * patch;
  float* to = out.data();
  for (Index c = 0; c < config.channels; ++c)
    for (Index t = 0; t < config.tubelet_frames; ++t) {
      const float* plane = pixels.data() + ((frame0 + t) * config.channels + c) * size * size;
      for (Index y = 0; y < patch; ++y, to += patch)
        std::copy_n(plane + (y0 + y) * size + x0, patch, to);
    }
}

void add_row(std::span<const float> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

/// The convolution that cuts patches: [hidden, channels, (frames,) patch, patch].
ops::Linear make_patch_projection(const ModelConfig& config, WeightReader& reader) {
  std::vector<Index> shape = {config.hidden, config.channels};
  if (config.family == Family::vivit) shape.push_back(config.tubelet_frames);
  shape.insert(shape.end(), {config.patch, config.patch});
  return reader.linear("embeddings.patch_embeddings.projection", shape, {});
}

}  // namespace

Embedding::Embedding(const ModelConfig& config, WeightSource& source, WeightPlace place)
    : Embedding(config, WeightReader(source, place)) {}

Embedding::Embedding(const ModelConfig& config, WeightReader reader) : config_(config) {
  const Index hidden = config.hidden;
  const auto table = [&](const char* name, Index rows) {
    return reader.table(name, std::array{rows, hidden});
  };
  if (config.family == Family::gpt2) {
    tokens_ = table("wte.weight", config.vocabulary);
    positions_ = table("wpe.weight", config.max_tokens);
  } else if (config.family == Family::bert) {
    tokens_ = table("embeddings.word_embeddings.weight", config.vocabulary);
    positions_ = table("embeddings.position_embeddings.weight", config.max_tokens);
    types_ = table("embeddings.token_type_embeddings.weight", config.token_types);
    norm_ = reader.layer_norm("embeddings.LayerNorm", hidden, config.layer_norm_epsilon);
  } else {
    class_token_ = reader.table("embeddings.cls_token", std::array<Index, 3>{1, 1, hidden});
    positions_ = reader.table("embeddings.position_embeddings",
                              std::array<Index, 3>{1, config.max_tokens, hidden});
    patch_projection_ = make_patch_projection(config, reader);
  }
}

void Embedding::operator()(const ModelInput& input, Slice rows, MatrixView<float> x,
                           MatrixView<float> patches, Operations& counted) const {
  TW_REQUIRE(rows.begin >= 0 && rows.size >= 0 && rows.end() <= input.tokens(config_),
             "rows {}..{} of {} tokens", rows.begin, rows.end(), input.tokens(config_));
  TW_REQUIRE(x.rows() == rows.size && x.cols() == config_.hidden, "x is [{}, {}] for [{}, {}]",
             x.rows(), x.cols(), rows.size, config_.hidden);
  if (config_.is_text())
    embed_tokens(input, rows, x, counted);
  else
    embed_patches(input, rows, x, patches, counted);
}

void Embedding::embed_patches(const ModelInput& input, Slice rows, MatrixView<float> x,
                              MatrixView<float> patches, Operations& counted) const {
  const Index has_class_token = rows.begin == 0 && rows.size > 0 ? 1 : 0;
  const Index count = rows.size - has_class_token;
  const Index first = rows.begin + has_class_token - 1;  // row r holds patch r - 1
  TW_REQUIRE(patches.rows() >= count && patches.cols() == config_.patch_inputs(),
             "scratch of [{}, {}] for [{}, {}]", patches.rows(), patches.cols(), count,
             config_.patch_inputs());
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < count; ++i) gather_patch(input.pixels, config_, first + i, patches.row(i));
  (*patch_projection_)(patches.rows(0, count), x.rows(has_class_token, count), counted);
  if (has_class_token != 0) copy(class_token_.view(), x.rows(0, 1));
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < rows.size; ++i) add_row(positions_.view().row(rows.begin + i), x.row(i));
}

void Embedding::embed_tokens(const ModelInput& input, Slice rows, MatrixView<float> x,
                             Operations& counted) const {
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < rows.size; ++i) {
    const auto token = static_cast<std::size_t>(rows.begin + i);
    const std::span<float> to = x.row(i);
    std::ranges::copy(tokens_.view().row(input.ids[token]), to.begin());
    add_row(positions_.view().row(rows.begin + i), to);
    if (config_.family == Family::bert)
      add_row(types_.view().row(input.types.empty() ? 0 : input.types[token]), to);
  }
  if (norm_) (*norm_)(x, x, counted);
}

}  // namespace thinwire::model
