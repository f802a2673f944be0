#include "data_form.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::eval {
namespace {

/// One `input` as the model takes it: pixels, or token ids.
class ReadyForm final : public TensorForm {
 public:
  ReadyForm(SafetensorsFile file, const model::ModelConfig& config)
      : TensorForm(std::move(file), config) {
    if (config.is_text())
      tensors().integers("input", 1);
    else
      require_pixels();
  }

  Index samples() const override { return 1; }

  Sample load(Index index) const override {
    require_index(index, "ready input");
    Sample sample;
    model::ModelInput& input = sample.sequences.emplace_back();
    if (config().is_text())
      input.ids = tensors().read_integers("input", 0, tensors().at("input").shape[0]);
    else
      input.pixels = tensors().floats("input");
    check(input, "input");
    return sample;
  }

  std::vector<Index> tokens_of(Index index) const override {
    require_index(index, "ready input");
    return {config().is_text() ? tensors().at("input").shape[0] : config().tokens};
  }

 private:
  void require_pixels() const {
    const Index size = config().image_size;
    std::vector<Index> shape = {config().channels, size, size};
    if (config().family == model::Family::vivit) shape.insert(shape.begin(), config().frames);
    const TensorView& pixels = tensors().tensor("input", ElementType::f32, "F32", shape.size());
    require_input(pixels.shape == shape, "{}: input is {}, but {} takes [{}]", path(),
                  shape_text(pixels), config().name, fmt::join(shape, ", "));
  }
};

}  // namespace

std::unique_ptr<const DataForm> make_ready_form(SafetensorsFile file,
                                                const model::ModelConfig& config) {
  return std::make_unique<ReadyForm>(std::move(file), config);
}

}  // namespace thinwire::eval
