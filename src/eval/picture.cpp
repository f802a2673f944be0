#include "thinwire/eval/picture.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include "decode.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"

namespace thinwire::eval {
namespace {

std::vector<std::uint8_t> read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  require_input(stream.is_open(), "picture {} cannot be read", file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

Picture decode(std::span<const std::uint8_t> bytes) {
  const auto begins_with = [bytes](std::initializer_list<std::uint8_t> signature) {
    return bytes.size() >= signature.size() &&
           std::ranges::equal(bytes.first(signature.size()), signature);
  };
  if (begins_with({0xFF, 0xD8})) return decode_jpeg(bytes);
  if (begins_with({0x89, 'P', 'N', 'G'})) return decode_png(bytes);
  throw InputError("neither begins as a JPEG nor as a PNG");
}

/// One preprocessor_config.json. What it asks for and to_pixels does not do is refused.
class PreprocessorKeys {
 public:
  explicit PreprocessorKeys(std::filesystem::path file)
      : file_(std::move(file)), json_(read_json(file_)) {
    require_input(json_.is_object(), "{}: not a JSON object", file_.string());
  }

  bool flag_or(const char* key, bool otherwise) const {
    const auto value = json_.find(key);
    if (value == json_.end() || value->is_null()) return otherwise;
    require_input(value->is_boolean(), "{}: \"{}\" is {} (true or false is needed)", file_.string(),
                  key, value->dump());
    return value->get<bool>();
  }

  /// A number that, where given, must be the one that is built in.
  void require_number(const char* key, double supported, const char* meaning) const {
    const auto value = json_.find(key);
    if (value == json_.end() || value->is_null()) return;
    require_input(value->is_number() && std::abs(value->get<double>() - supported) < 1e-9,
                  "{}: \"{}\" is {} (only {} is supported: {})", file_.string(), key, value->dump(),
                  supported, meaning);
  }

  /// "size": one number for a square, or {"height", "width"}. Pictures must end up square.
  void require_size(int image_size) const {
    const auto size = json_.find("size");
    if (size == json_.end() || size->is_null()) return;
    const bool fits = *size == Json(image_size) ||
                      (size->is_object() && size->value("height", Json()) == Json(image_size) &&
                       size->value("width", Json()) == Json(image_size));
    require_input(fits, "{}: \"size\" is {}, but the model takes pictures of {}x{}", file_.string(),
                  size->dump(), image_size, image_size);
  }

  void read_channels(const char* key, std::array<float, 3>& values) const {
    const auto list = json_.find(key);
    if (list == json_.end() || list->is_null()) return;
    bool fits = list->is_array() && list->size() == values.size();
    for (std::size_t c = 0; fits && c < values.size(); ++c) fits = (*list)[c].is_number();
    require_input(fits, "{}: \"{}\" is {} (three numbers are needed)", file_.string(), key,
                  list->dump());
    for (std::size_t c = 0; c < values.size(); ++c) values[c] = (*list)[c].get<float>();
  }

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  Json json_;
};

}  // namespace

void require_size(std::int64_t width, std::int64_t height) {
  require_input(width * height <= kMostPixels, "{} x {} pixels, at most {} are read", width, height,
                kMostPixels);
}

Picture read_picture(const std::filesystem::path& file) {
  const std::vector<std::uint8_t> bytes = read_bytes(file);
  try {
    return decode(bytes);
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("picture {}: {} (a JPEG or PNG is needed)", file.string(), error.what()));
  }
}

Preprocessing preprocessing_for(const model::ModelConfig& config,
                                const std::filesystem::path& folder) {
  Preprocessing preprocessing;
  preprocessing.height = preprocessing.width = static_cast<int>(config.image_size);
  // Video comes as ready samples only: nothing of its preprocessing is done here.
  if (config.family != model::Family::vit || folder.empty()) return preprocessing;
  const std::filesystem::path file = folder / "preprocessor_config.json";
  if (!std::filesystem::exists(file)) return preprocessing;

  const PreprocessorKeys keys(file);
  keys.require_size(preprocessing.height);
  keys.require_number("resample", 2, "bilinear");
  keys.require_number("rescale_factor", 1.0 / 255, "1/255");
  require_input(keys.flag_or("do_rescale", true),
                "{}: \"do_rescale\" is false (values are divided "
                "by 255 here)",
                file.string());
  require_input(!keys.flag_or("do_center_crop", false), "{}: \"do_center_crop\" is not supported",
                file.string());
  keys.read_channels("image_mean", preprocessing.mean);
  keys.read_channels("image_std", preprocessing.deviation);
  for (const float deviation : preprocessing.deviation)
    require_input(deviation > 0, "{}: \"image_std\" has {} (positive numbers are needed)",
                  file.string(), deviation);
  if (!keys.flag_or("do_normalize", true)) {
    preprocessing.mean = {0, 0, 0};
    preprocessing.deviation = {1, 1, 1};
  }
  return preprocessing;
}

std::vector<float> to_pixels(const Picture& picture, const Preprocessing& preprocessing) {
  const bool fits = picture.height == preprocessing.height && picture.width == preprocessing.width;
  if (!fits)
    return to_pixels(resize_bilinear(picture, preprocessing.height, preprocessing.width),
                     preprocessing);
  constexpr std::size_t kChannels = 3;
  const std::size_t plane = picture.rgb.size() / kChannels;
  std::vector<float> pixels(picture.rgb.size());
  for (std::size_t c = 0; c < kChannels; ++c)
    for (std::size_t i = 0; i < plane; ++i)
      pixels[c * plane + i] =
          (static_cast<float>(picture.rgb[i * kChannels + c]) / 255.0F - preprocessing.mean[c]) /
          preprocessing.deviation[c];
  return pixels;
}

}  // namespace thinwire::eval
