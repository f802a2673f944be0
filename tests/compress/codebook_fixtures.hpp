#pragma once
#include <array>
#include <memory_resource>
#include <string>

#include "support/golden.hpp"
#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/model/model.hpp"

namespace thinwire::test {

inline constexpr std::array kGoldenModels = {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"};

// What the strategies of the golden runs code their exchanges with.
inline constexpr compress::CodebookUse kTraceB = {.published = compress::Published::residual,
                                                  .buffers = compress::Buffers::kv};
inline constexpr compress::CodebookUse kTrace2a = {.published = compress::Published::residual,
                                                   .codes_first_exchange = false,
                                                   .buffers = compress::Buffers::kv};
inline constexpr compress::CodebookUse kTraceNb = {
    .published = compress::Published::attention_output, .codes_first_exchange = false};
inline constexpr compress::CodebookUse kTrace1b = {.published =
                                                       compress::Published::attention_output};
inline constexpr compress::CodebookUse astra(Index groups) {
  return {.published = compress::Published::block_output, .groups = groups};
}

inline std::pmr::memory_resource* heap() {
  return std::pmr::new_delete_resource();
}

inline std::filesystem::path golden_path(const std::string& model) {
  return kGoldenFolder / (model + ".safetensors");
}

inline model::ModelConfig golden_config(const std::string& model) {
  return model::open_checkpoint(kGoldenFolder / "models" / model).config;
}

inline model::Model golden_model(const std::string& model) {
  model::Checkpoint checkpoint = model::open_checkpoint(kGoldenFolder / "models" / model);
  return {checkpoint.config, *checkpoint.weights, {heap()}};
}

}  // namespace thinwire::test
