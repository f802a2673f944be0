#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "thinwire/eval/picture.hpp"
#include "thinwire/model/model_input.hpp"

namespace thinwire::eval {

/// Tokens [begin, end) of a sequence.
struct TokenRange {
  Index begin = 0, end = 0;
};

/// What one inference works on: one sequence, two for a sentence pair, or one a candidate of a
/// cloze, with what is known about the right answer.
struct Sample {
  std::vector<model::ModelInput> sequences;
  std::optional<int> label;    ///< the true class, or the right candidate
  std::optional<float> score;  ///< a pair's human similarity, or what a regression should give
  bool is_bytes = false;       ///< one byte a token: perplexity is bits per byte
  /// What the predicted tokens (all but the first) stand for, where the file says so.
  std::optional<Index> bytes, characters;
  /// Cloze: one a sequence, the tokens whose likelihood is compared; else empty.
  std::vector<TokenRange> candidates;
};

/// Which text of a file of bytes is cut in windows; the other one where there is no such.
enum class BytesPart { valid, train };

/// Loads sample `index` of `file` for a model: a JPEG or PNG, or a safetensors data file in one of
/// the forms of docs/data-files.md. Opens the file each time; DataFile keeps it open.
///   window  tokens a byte window has; 0: as many as the model's position table
/// Throws InputError naming file, tensor or index, and what would be right.
Sample load_sample(const std::filesystem::path& file, Index index, const model::ModelConfig& config,
                   const Preprocessing& preprocessing, Index window = 0,
                   BytesPart part = BytesPart::valid);

}  // namespace thinwire::eval
