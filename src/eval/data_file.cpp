#include "thinwire/eval/data_file.hpp"

#include <fstream>
#include <iterator>

#include "data_form.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/tensor/content_hash.hpp"

namespace thinwire::eval {
namespace {

/// A JPEG or PNG: a sample of its own.
class PictureFile final : public DataForm {
 public:
  PictureFile(std::filesystem::path file, const model::ModelConfig& config,
              const Preprocessing& preprocessing)
      : file_(std::move(file)), config_(config), preprocessing_(preprocessing) {
    require_input(config.family == model::Family::vit,
                  "{}: not a .safetensors file, and {} does not take pictures", file_.string(),
                  config.name);
  }

  Index samples() const override { return 1; }

  Sample load(Index index) const override {
    require_first(index);
    Sample sample;
    sample.sequences.emplace_back().pixels = to_pixels(read_picture(file_), preprocessing_);
    model::check_input(sample.sequences.back(), config_);
    return sample;
  }

  std::vector<Index> tokens_of(Index index) const override {
    require_first(index);
    return {config_.tokens};
  }

  std::string fingerprint() const override {
    std::ifstream stream(file_, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    ContentHash hash;
    hash.add(bytes);
    return to_hex(hash.value());
  }

 private:
  void require_first(Index index) const {
    require_input(index == 0, "{}: sample {} of one picture (0 is right)", file_.string(), index);
  }

  std::filesystem::path file_;
  model::ModelConfig config_;
  Preprocessing preprocessing_;
};

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

std::unique_ptr<const DataForm> open_form(const std::filesystem::path& path,
                                          const model::ModelConfig& config,
                                          const Preprocessing& preprocessing, Index window,
                                          BytesPart part) {
  require_input(std::filesystem::is_regular_file(path), "input {} is not a file", path.string());
  if (path.extension() != ".safetensors")
    return std::make_unique<PictureFile>(path, config, preprocessing);
  SafetensorsFile file(path);
  if (config.family == model::Family::vit && file.has("image"))
    return make_picture_form(std::move(file), config, preprocessing);
  if (config.is_text() && file.has("input_ids")) return make_text_form(std::move(file), config);
  if (config.is_text() && (file.has("valid") || file.has("train")))
    return make_bytes_form(std::move(file), config, window, part);
  require_input(file.has("input"), "{}: no tensor that {} can read ({})", path.string(),
                config.name, readable_by(config));
  return make_ready_form(std::move(file), config);
}

}  // namespace

void TensorForm::require_index(Index index, const std::string& what) const {
  require_input(index >= 0 && index<samples(), "{}: sample {} of {} {}{}", path(), index, samples(),
                                    what, samples()> 0
                    ? fmt::format(" (0..{} is right)", samples() - 1)
                    : std::string());
}

void TensorForm::check(const model::ModelInput& input, const std::string& place) const {
  try {
    model::check_input(input, config_);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}: {}", path(), place, error.what()));
  }
}

DataFile::DataFile(const std::filesystem::path& file, const model::ModelConfig& config,
                   const Preprocessing& preprocessing, Index window, BytesPart part)
    : form_(open_form(file, config, preprocessing, window, part)) {}
DataFile::DataFile(DataFile&&) noexcept = default;
DataFile::~DataFile() = default;

Index DataFile::samples() const {
  return form_->samples();
}

Sample DataFile::load(Index index) const {
  return form_->load(index);
}

std::vector<Index> DataFile::tokens_of(Index index) const {
  return form_->tokens_of(index);
}

std::string DataFile::fingerprint() const {
  return form_->fingerprint();
}

Sample load_sample(const std::filesystem::path& path, Index index, const model::ModelConfig& config,
                   const Preprocessing& preprocessing, Index window, BytesPart part) {
  return DataFile(path, config, preprocessing, window, part).load(index);
}

}  // namespace thinwire::eval
