// Safetensors files: the header, and every tensor and pair that it names.

#include "fuzz_target.hpp"
#include "input_file.hpp"
#include "thinwire/tensor/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinwire;
  static const fuzz::InputFile input("input.safetensors");
  fuzz::is_taken([&] {
    const SafetensorsFile file(input.write(fuzz::as_text(data, size)));
    for (const auto& [name, tensor] : file.tensors()) {
      const auto elements = static_cast<std::size_t>(tensor.elements());
      fuzz::require(tensor.bytes.empty() || tensor.bytes.size() <= size);
      fuzz::is_taken([&, &name = name] { fuzz::require(file.floats(name).size() == elements); });
      fuzz::is_taken([&, &name = name] { fuzz::require(file.integers(name).size() == elements); });
    }
    fuzz::is_taken([&] { file.at("absent"); });
  });
  return 0;
}
