#include "data_form.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::eval {
namespace {

constexpr Index kByteValues = 256;

const char* part_name(BytesPart part) {
  return part == BytesPart::train ? "train" : "valid";
}

/// valid [n], train [n]: windows that follow each other; what does not fill one is left out.
class BytesForm final : public TensorForm {
 public:
  BytesForm(SafetensorsFile file, const model::ModelConfig& config, Index window, BytesPart part)
      : TensorForm(std::move(file), config),
        name_(part_name(part)),
        window_(window == 0 ? config.max_tokens : window) {
    if (!tensors().has(name_))
      name_ = part_name(part == BytesPart::train ? BytesPart::valid : BytesPart::train);
    require_input(config.family == model::Family::gpt2 && config.vocabulary <= kByteValues,
                  "{}: {} holds bytes, but {} is not a language model of bytes (a vocabulary of "
                  "256)",
                  path(), name_, config.name);
    require_input(window_ >= 1 && window_ <= config.max_tokens,
                  "a window of {} bytes, but {} has {} positions", window_, config.name,
                  config.max_tokens);
    tensors().tensor(name_, ElementType::u8, "U8", 1);
  }

  Index samples() const override { return tensors().at(name_).shape[0] / window_; }

  Sample load(Index index) const override {
    require_window(index);
    Sample sample;
    sample.is_bytes = true;
    auto& ids = sample.sequences.emplace_back().ids;
    for (const std::byte byte : tensors().at(name_).bytes.subspan(
             static_cast<std::size_t>(index * window_), static_cast<std::size_t>(window_)))
      ids.push_back(std::to_integer<std::int32_t>(byte));
    check(sample.sequences.back(), fmt::format("window {} of {}", index, name_));
    return sample;
  }

  std::vector<Index> tokens_of(Index index) const override {
    require_window(index);
    return {window_};
  }

 private:
  void require_window(Index index) const {
    require_index(index, fmt::format("windows of {} bytes", window_));
  }

  const char* name_;
  Index window_;
};

}  // namespace

std::unique_ptr<const DataForm> make_bytes_form(SafetensorsFile file,
                                                const model::ModelConfig& config, Index window,
                                                BytesPart part) {
  return std::make_unique<BytesForm>(std::move(file), config, window, part);
}

}  // namespace thinwire::eval
