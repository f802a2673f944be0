#include <algorithm>

#include "data_form.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::eval {
namespace {

/// input_ids [rows, cols]; a sample is `each_` rows that follow each other.
class TextForm final : public TensorForm {
 public:
  TextForm(SafetensorsFile file, const model::ModelConfig& config);

  Index samples() const override { return samples_; }
  Sample load(Index index) const override;
  std::vector<Index> tokens_of(Index index) const override;

 private:
  Index count_samples() const;
  Index count_clozes() const;
  void check_answers() const;
  const char* unit() const;
  Index length(Index row) const;
  model::ModelInput sequence(Index row) const;
  TokenRange candidate(Index row, Index tokens) const;
  void add_answers(Sample& sample, Index index) const;
  Index text_size(const char* name, Index index) const;

  Index rows_ = 0, cols_ = 0, samples_ = 0, each_ = 1;
  bool is_cloze_ = false;
};

TextForm::TextForm(SafetensorsFile file, const model::ModelConfig& config)
    : TensorForm(std::move(file), config) {
  const TensorView& ids = tensors().integers("input_ids", 2);
  rows_ = ids.shape[0];
  cols_ = ids.shape[1];
  require_input(tensors().has("length") || tensors().has("attention_mask"),
                "{}: input_ids needs length [{}] or attention_mask [{}, {}]", path(), rows_, rows_,
                cols_);
  is_cloze_ = config.is_causal() && tensors().has("candidate_begin");
  samples_ = is_cloze_ ? count_clozes() : count_samples();
  each_ = samples_ > 0 ? rows_ / samples_ : 1;
  check_answers();
}

/// One sample a sequence, or one a pair of them, as the answers tell.
Index TextForm::count_samples() const {
  Index samples = rows_;
  const char* counted = nullptr;
  for (const char* name : {"label", "score"}) {
    if (!tensors().has(name)) continue;
    const TensorView& answers = tensors().at(name);
    const bool fits =
        answers.shape.size() == 1 && (answers.shape[0] == rows_ || 2 * answers.shape[0] == rows_);
    require_input(fits, "{}: {} is {} for {} sequences (one each, or one a pair, is needed)",
                  path(), name, shape_text(answers), rows_);
    require_input(counted == nullptr || answers.shape[0] == samples, "{}: {} is {}, but {} is [{}]",
                  path(), name, shape_text(answers), counted, samples);
    samples = answers.shape[0];
    counted = name;
  }
  return samples;
}

/// As many samples as labels; the rows are shared out equally.
Index TextForm::count_clozes() const {
  tensors().integer_list("candidate_begin", rows_, "rows of input_ids");
  if (tensors().has("candidate_end"))
    tensors().integer_list("candidate_end", rows_, "rows of input_ids");
  require_input(tensors().has("label"),
                "{}: candidate_begin needs label, the number of each sample's right candidate",
                path());
  const TensorView& labels = tensors().integers("label", 1);
  const Index samples = labels.shape[0];
  require_input(samples > 0 && rows_ % samples == 0 && rows_ / samples >= 2,
                "{}: label is {} for {} sequences (the same number of candidates each, at least "
                "two, is needed)",
                path(), shape_text(labels), rows_);
  return samples;
}

void TextForm::check_answers() const {
  if (tensors().has("label")) tensors().integers("label", 1);
  if (tensors().has("score") && !is_cloze_) tensors().tensor("score", ElementType::f32, "F32", 1);
  if (tensors().has("length")) tensors().integer_list("length", rows_, "rows of input_ids");
  for (const char* name : {"bytes", "characters"})
    if (config().is_causal() && tensors().has(name))
      tensors().integer_list(name, samples_, "samples");
}

const char* TextForm::unit() const {
  if (is_cloze_) return "clozes";
  return each_ == 2 ? "pairs" : "sequences";
}

Index TextForm::length(Index row) const {
  if (!tensors().has("length")) return cols_;
  const std::int32_t length = tensors().integer("length", row);
  require_input(length >= 1 && length <= cols_, "{}: length {} of row {} is outside 1..{}", path(),
                length, row, cols_);
  return length;
}

model::ModelInput TextForm::sequence(Index row) const {
  model::ModelInput input;
  input.ids = tensors().row("input_ids", row, rows_, cols_);
  if (tensors().has("token_type_ids") && config().token_types > 0)
    input.types = tensors().row("token_type_ids", row, rows_, cols_);
  const auto tokens = static_cast<std::size_t>(length(row));
  input.ids.resize(tokens);
  if (!input.types.empty()) input.types.resize(tokens);
  if (!tensors().has("length"))
    for (const std::int32_t mask : tensors().row("attention_mask", row, rows_, cols_)) {
      require_input(mask == 0 || mask == 1, "{}: attention_mask has {} in row {} (0 or 1 is right)",
                    path(), mask, row);
      input.real.push_back(static_cast<std::uint8_t>(mask));
    }
  check(input, fmt::format("row {} of input_ids", row));
  return input;
}

/// The first token has nothing before it that could predict it.
TokenRange TextForm::candidate(Index row, Index tokens) const {
  TokenRange range{tensors().integer("candidate_begin", row), tokens};
  if (tensors().has("candidate_end")) range.end = tensors().integer("candidate_end", row);
  require_input(range.begin >= 1 && range.begin < range.end && range.end <= tokens,
                "{}: candidate {}..{} of row {} (1 <= candidate_begin < candidate_end <= {} is "
                "needed)",
                path(), range.begin, range.end, row, tokens);
  return range;
}

Index TextForm::text_size(const char* name, Index index) const {
  const std::int32_t size = tensors().integer(name, index);
  require_input(size >= 0, "{}: {} is {} for sample {} (a count is needed)", path(), name, size,
                index);
  return size;
}

void TextForm::add_answers(Sample& sample, Index index) const {
  if (tensors().has("label")) sample.label = tensors().integer("label", index);
  if (tensors().has("score") && !is_cloze_)
    widen(tensors().tensor("score", ElementType::f32, "F32", 1), index,
          std::span(&sample.score.emplace(), 1));
  if (!config().is_causal()) return;
  if (tensors().has("bytes")) sample.bytes = text_size("bytes", index);
  if (tensors().has("characters")) sample.characters = text_size("characters", index);
}

Sample TextForm::load(Index index) const {
  require_index(index, unit());
  Sample sample;
  for (Index row = index * each_; row < (index + 1) * each_; ++row) {
    sample.sequences.push_back(sequence(row));
    if (is_cloze_)
      sample.candidates.push_back(candidate(row, std::ssize(sample.sequences.back().ids)));
  }
  add_answers(sample, index);
  return sample;
}

std::vector<Index> TextForm::tokens_of(Index index) const {
  require_index(index, unit());
  std::vector<Index> tokens;
  for (Index row = index * each_; row < (index + 1) * each_; ++row) tokens.push_back(length(row));
  return tokens;
}

}  // namespace

std::unique_ptr<const DataForm> make_text_form(SafetensorsFile file,
                                               const model::ModelConfig& config) {
  return std::make_unique<TextForm>(std::move(file), config);
}

}  // namespace thinwire::eval
