#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "thinwire/base/error.hpp"
#include "thinwire/eval/sample.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::eval {
namespace {

std::string shape_text(const TensorView& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ", "));
}

/// One data file, a model and the sample that is asked for.
class SampleReader {
 public:
  SampleReader(const SafetensorsFile& file, Index index, const model::ModelConfig& config)
      : file_(file), index_(index), config_(config) {}

  Sample picture(const Preprocessing& preprocessing) const;
  Sample text() const;
  Sample bytes(Index window, BytesPart part) const;
  Sample ready() const;

 private:
  const TensorView& tensor(const char* name, ElementType type, const char* type_name,
                           std::size_t rank) const;
  const TensorView& integers(const char* name, std::size_t rank) const;
  std::vector<std::int32_t> row(const char* name, Index row, Index rows, Index cols) const;
  std::int32_t integer(const char* name, Index row) const;
  void require_index(Index samples, const char* what) const;
  void add_answers(Sample& sample) const;
  Index count_samples(Index sequences) const;
  model::ModelInput sequence(Index row, Index rows, Index cols) const;
  void check(const model::ModelInput& input, const std::string& place) const;

  const SafetensorsFile& file_;
  Index index_;
  const model::ModelConfig& config_;
};

/// Elements [first, first + count) of an integer tensor, without reading the rest.
std::vector<std::int32_t> read_integers(const SafetensorsFile& file, const char* name, Index first,
                                        Index count) {
  const TensorView& tensor = file.at(name);
  const auto at = static_cast<std::size_t>(first), size = static_cast<std::size_t>(count);
  std::vector<std::int32_t> values(size);
  if (tensor.type == ElementType::i32) {
    std::memcpy(values.data(), tensor.bytes.data() + at * sizeof(std::int32_t),
                size * sizeof(std::int32_t));
    return values;
  }
  std::vector<std::int64_t> wide(size);
  std::memcpy(wide.data(), tensor.bytes.data() + at * sizeof(std::int64_t),
              size * sizeof(std::int64_t));
  for (std::size_t i = 0; i < size; ++i) {
    require_input(wide[i] >= std::numeric_limits<std::int32_t>::min() &&
                      wide[i] <= std::numeric_limits<std::int32_t>::max(),
                  "{}: {} has {}, which 32 bits do not hold", file.path().string(), name, wide[i]);
    values[i] = static_cast<std::int32_t>(wide[i]);
  }
  return values;
}

const TensorView& SampleReader::tensor(const char* name, ElementType type, const char* type_name,
                                       std::size_t rank) const {
  const TensorView& found = file_.at(name);
  require_input(found.type == type && found.shape.size() == rank,
                "{}: {} is {} {} ({} with {} dimensions is needed)", file_.path().string(), name,
                found.type_name, shape_text(found), type_name, rank);
  return found;
}

const TensorView& SampleReader::integers(const char* name, std::size_t rank) const {
  const TensorView& found = file_.at(name);
  require_input((found.type == ElementType::i32 || found.type == ElementType::i64) &&
                    found.shape.size() == rank,
                "{}: {} is {} {} (I32 with {} dimensions is needed)", file_.path().string(), name,
                found.type_name, shape_text(found), rank);
  return found;
}

/// Row `row` of an integer tensor that must be [rows, cols].
std::vector<std::int32_t> SampleReader::row(const char* name, Index row, Index rows,
                                            Index cols) const {
  const TensorView& found = integers(name, 2);
  require_input(found.shape[0] == rows && found.shape[1] == cols,
                "{}: {} is {}, but input_ids is [{}, {}]", file_.path().string(), name,
                shape_text(found), rows, cols);
  return read_integers(file_, name, row * cols, cols);
}

std::int32_t SampleReader::integer(const char* name, Index row) const {
  return read_integers(file_, name, row, 1).front();
}

void SampleReader::require_index(Index samples, const char* what) const {
  require_input(index_ >= 0 && index_<samples, "{}: sample {} of {} {}{}", file_.path().string(),
                                      index_, samples, what, samples> 0
                    ? fmt::format(" (0..{} is right)", samples - 1)
                    : std::string());
}

void SampleReader::check(const model::ModelInput& input, const std::string& place) const {
  try {
    model::check_input(input, config_);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}: {}", file_.path().string(), place, error.what()));
  }
}

Sample SampleReader::picture(const Preprocessing& preprocessing) const {
  constexpr Index kChannels = 3;
  const TensorView& image = tensor("image", ElementType::u8, "U8", 4);
  require_input(image.shape[3] == kChannels && image.shape[1] >= 1 && image.shape[2] >= 1,
                "{}: image is {} ([n, height, width, 3] is needed)", file_.path().string(),
                shape_text(image));
  require_index(image.shape[0], "pictures");

  Picture picture{static_cast<int>(image.shape[1]), static_cast<int>(image.shape[2]), {}};
  const auto size = static_cast<std::size_t>(image.shape[1] * image.shape[2] * kChannels);
  const auto bytes = image.bytes.subspan(static_cast<std::size_t>(index_) * size, size);
  picture.rgb.resize(size);
  std::memcpy(picture.rgb.data(), bytes.data(), size);

  Sample sample;
  sample.sequences.emplace_back().pixels = to_pixels(picture, preprocessing);
  check(sample.sequences.back(), fmt::format("picture {}", index_));
  if (file_.has("label")) {
    const TensorView& label = integers("label", 1);
    require_input(label.shape[0] == image.shape[0], "{}: label is {} for {} pictures",
                  file_.path().string(), shape_text(label), image.shape[0]);
    sample.label = integer("label", index_);
  }
  return sample;
}

model::ModelInput SampleReader::sequence(Index row_index, Index rows, Index cols) const {
  const bool has_length = file_.has("length");
  model::ModelInput input;
  input.ids = row("input_ids", row_index, rows, cols);
  if (file_.has("token_type_ids") && config_.token_types > 0)
    input.types = row("token_type_ids", row_index, rows, cols);
  if (has_length) {
    const TensorView& lengths = integers("length", 1);
    require_input(lengths.shape[0] == rows, "{}: length is {} for {} rows of input_ids",
                  file_.path().string(), shape_text(lengths), rows);
    const std::int32_t length = integer("length", row_index);
    require_input(length >= 1 && length <= cols, "{}: length {} of row {} is outside 1..{}",
                  file_.path().string(), length, row_index, cols);
    input.ids.resize(static_cast<std::size_t>(length));
    if (!input.types.empty()) input.types.resize(static_cast<std::size_t>(length));
  } else {
    for (const std::int32_t mask : row("attention_mask", row_index, rows, cols)) {
      require_input(mask == 0 || mask == 1, "{}: attention_mask has {} in row {} (0 or 1 is right)",
                    file_.path().string(), mask, row_index);
      input.real.push_back(static_cast<std::uint8_t>(mask));
    }
  }
  check(input, fmt::format("row {} of input_ids", row_index));
  return input;
}

/// One sample a sequence, or one a pair of them, as the answers tell.
Index SampleReader::count_samples(Index sequences) const {
  Index samples = sequences;
  const char* counted = nullptr;
  for (const char* name : {"label", "score"}) {
    if (!file_.has(name)) continue;
    const TensorView& answers = file_.at(name);
    const bool fits = answers.shape.size() == 1 &&
                      (answers.shape[0] == sequences || 2 * answers.shape[0] == sequences);
    require_input(fits, "{}: {} is {} for {} sequences (one each, or one a pair, is needed)",
                  file_.path().string(), name, shape_text(answers), sequences);
    require_input(counted == nullptr || answers.shape[0] == samples, "{}: {} is {}, but {} is [{}]",
                  file_.path().string(), name, shape_text(answers), counted, samples);
    samples = answers.shape[0];
    counted = name;
  }
  return samples;
}

void SampleReader::add_answers(Sample& sample) const {
  if (file_.has("label")) {
    integers("label", 1);
    sample.label = integer("label", index_);
  }
  if (file_.has("score")) {
    const TensorView& scores = tensor("score", ElementType::f32, "F32", 1);
    widen(scores, index_, std::span(&sample.score.emplace(), 1));
  }
}

Sample SampleReader::text() const {
  const TensorView& ids = integers("input_ids", 2);
  const Index rows = ids.shape[0], cols = ids.shape[1];
  require_input(file_.has("length") || file_.has("attention_mask"),
                "{}: input_ids needs length [{}] or attention_mask [{}, {}]", file_.path().string(),
                rows, rows, cols);
  const Index samples = count_samples(rows);
  const Index each = samples > 0 ? rows / samples : 1;
  require_index(samples, each == 2 ? "pairs" : "sequences");

  Sample sample;
  for (Index i = 0; i < each; ++i)
    sample.sequences.push_back(sequence(index_ * each + i, rows, cols));
  add_answers(sample);
  return sample;
}

Sample SampleReader::bytes(Index window, BytesPart part) const {
  constexpr Index kByteValues = 256;
  const char* const wanted = part == BytesPart::train ? "train" : "valid";
  const char* const other = part == BytesPart::train ? "valid" : "train";
  const char* const name = file_.has(wanted) ? wanted : other;
  require_input(config_.family == model::Family::gpt2 && config_.vocabulary <= kByteValues,
                "{}: {} holds bytes, but {} is not a language model of bytes (a vocabulary of 256)",
                file_.path().string(), name, config_.name);
  if (window == 0) window = config_.max_tokens;
  require_input(window >= 1 && window <= config_.max_tokens,
                "a window of {} bytes, but {} has {} positions", window, config_.name,
                config_.max_tokens);
  const TensorView& text = tensor(name, ElementType::u8, "U8", 1);
  require_index(text.shape[0] / window, fmt::format("windows of {} bytes", window).c_str());

  Sample sample;
  sample.is_bytes = true;
  auto& ids = sample.sequences.emplace_back().ids;
  for (const std::byte byte : text.bytes.subspan(static_cast<std::size_t>(index_ * window),
                                                 static_cast<std::size_t>(window)))
    ids.push_back(std::to_integer<std::int32_t>(byte));
  check(sample.sequences.back(), fmt::format("window {} of {}", index_, name));
  return sample;
}

Sample SampleReader::ready() const {
  require_index(1, "ready input");
  Sample sample;
  model::ModelInput& input = sample.sequences.emplace_back();
  if (config_.is_text()) {
    const TensorView& ids = integers("input", 1);
    input.ids = read_integers(file_, "input", 0, ids.shape[0]);
  } else {
    const Index size = config_.image_size;
    std::vector<Index> shape = {config_.channels, size, size};
    if (config_.family == model::Family::vivit) shape.insert(shape.begin(), config_.frames);
    const TensorView& pixels = tensor("input", ElementType::f32, "F32", shape.size());
    require_input(pixels.shape == shape, "{}: input is {}, but {} takes [{}]",
                  file_.path().string(), shape_text(pixels), config_.name, fmt::join(shape, ", "));
    input.pixels = file_.floats("input");
  }
  check(input, "input");
  return sample;
}

bool is_safetensors(const std::filesystem::path& file) {
  return file.extension() == ".safetensors";
}

Sample load_picture(const std::filesystem::path& file, Index index,
                    const model::ModelConfig& config, const Preprocessing& preprocessing) {
  require_input(config.family == model::Family::vit,
                "{}: not a .safetensors file, and {} does not take pictures", file.string(),
                config.name);
  require_input(index == 0, "{}: sample {} of one picture (0 is right)", file.string(), index);
  Sample sample;
  sample.sequences.emplace_back().pixels = to_pixels(read_picture(file), preprocessing);
  model::check_input(sample.sequences.back(), config);
  return sample;
}

/// What `config` can read, for the message about a file that has none of it.
std::string_view readable_by(const model::ModelConfig& config) {
  switch (config.family) {
    case model::Family::vit:
      return "image, or input";
    case model::Family::vivit:
      return "input";
    case model::Family::bert:
      return "input_ids, or input";
    case model::Family::gpt2:
      return "input_ids, valid, train, or input";
  }
  TW_REQUIRE(false, "unknown model family {}", static_cast<int>(config.family));
}

}  // namespace

Sample load_sample(const std::filesystem::path& path, Index index, const model::ModelConfig& config,
                   const Preprocessing& preprocessing, Index window, BytesPart part) {
  require_input(std::filesystem::is_regular_file(path), "input {} is not a file", path.string());
  if (!is_safetensors(path)) return load_picture(path, index, config, preprocessing);
  const SafetensorsFile file(path);
  const SampleReader reader(file, index, config);
  if (config.family == model::Family::vit && file.has("image"))
    return reader.picture(preprocessing);
  if (config.is_text() && file.has("input_ids")) return reader.text();
  if (config.is_text() && (file.has("valid") || file.has("train")))
    return reader.bytes(window, part);
  require_input(file.has("input"), "{}: no tensor that {} can read ({})", path.string(),
                config.name, readable_by(config));
  return reader.ready();
}

}  // namespace thinwire::eval
