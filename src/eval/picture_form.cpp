#include <cstring>

#include "data_form.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::eval {
namespace {

constexpr Index kChannels = 3;

/// image [n, height, width, 3], label [n].
class PictureForm final : public TensorForm {
 public:
  PictureForm(SafetensorsFile file, const model::ModelConfig& config,
              const Preprocessing& preprocessing)
      : TensorForm(std::move(file), config), preprocessing_(preprocessing) {
    const TensorView& image = tensors().tensor("image", ElementType::u8, "U8", 4);
    require_input(image.shape[3] == kChannels && image.shape[1] >= 1 && image.shape[2] >= 1,
                  "{}: image is {} ([n, height, width, 3] is needed)", path(), shape_text(image));
    if (tensors().has("label")) tensors().integer_list("label", samples(), "pictures");
  }

  Index samples() const override { return tensors().at("image").shape[0]; }

  Sample load(Index index) const override {
    require_index(index, "pictures");
    Sample sample;
    sample.sequences.emplace_back().pixels = to_pixels(picture(index), preprocessing_);
    check(sample.sequences.back(), fmt::format("picture {}", index));
    if (tensors().has("label")) sample.label = tensors().integer("label", index);
    return sample;
  }

  std::vector<Index> tokens_of(Index index) const override {
    require_index(index, "pictures");
    return {config().tokens};
  }

 private:
  Picture picture(Index index) const {
    const TensorView& image = tensors().at("image");
    Picture picture{static_cast<int>(image.shape[1]), static_cast<int>(image.shape[2]), {}};
    const auto size = static_cast<std::size_t>(image.shape[1] * image.shape[2] * kChannels);
    picture.rgb.resize(size);
    std::memcpy(picture.rgb.data(), image.bytes.data() + static_cast<std::size_t>(index) * size,
                size);
    return picture;
  }

  Preprocessing preprocessing_;
};

}  // namespace

std::unique_ptr<const DataForm> make_picture_form(SafetensorsFile file,
                                                  const model::ModelConfig& config,
                                                  const Preprocessing& preprocessing) {
  return std::make_unique<PictureForm>(std::move(file), config, preprocessing);
}

}  // namespace thinwire::eval
