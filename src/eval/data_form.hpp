#pragma once
#include <memory>
#include <string>
#include <vector>

#include "data_tensors.hpp"
#include "thinwire/eval/sample.hpp"

namespace thinwire::eval {

/// One way in which a file holds samples; forms check their tensors' shapes when they are made.
class DataForm {
 public:
  virtual ~DataForm() = default;
  virtual Index samples() const = 0;
  virtual Sample load(Index index) const = 0;
  virtual std::vector<Index> tokens_of(Index index) const = 0;
  virtual std::string fingerprint() const = 0;
};

/// What the forms of a safetensors file share: its tensors and the model that reads them.
class TensorForm : public DataForm {
 public:
  TensorForm(SafetensorsFile file, model::ModelConfig config)
      : tensors_(std::move(file)), config_(std::move(config)) {}
  std::string fingerprint() const override { return tensors_.fingerprint(); }

 protected:
  const DataTensors& tensors() const { return tensors_; }
  const model::ModelConfig& config() const { return config_; }
  std::string path() const { return tensors_.path(); }

  /// `what` counts samples in the message: "pairs", "pictures".
  void require_index(Index index, const std::string& what) const;
  /// Puts file and place before the reason why an input does not fit the model.
  void check(const model::ModelInput& input, const std::string& place) const;

 private:
  DataTensors tensors_;
  model::ModelConfig config_;
};

/// `image`, with or without `label`.
std::unique_ptr<const DataForm> make_picture_form(SafetensorsFile file,
                                                  const model::ModelConfig& config,
                                                  const Preprocessing& preprocessing);
/// `input_ids`: single sequences, pairs, or the candidates of a cloze.
std::unique_ptr<const DataForm> make_text_form(SafetensorsFile file,
                                               const model::ModelConfig& config);
/// `valid` or `train`, cut in windows.
std::unique_ptr<const DataForm> make_bytes_form(SafetensorsFile file,
                                                const model::ModelConfig& config, Index window,
                                                BytesPart part);
/// One ready `input`.
std::unique_ptr<const DataForm> make_ready_form(SafetensorsFile file,
                                                const model::ModelConfig& config);

}  // namespace thinwire::eval
