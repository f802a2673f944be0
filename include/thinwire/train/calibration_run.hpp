#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::train {

/// Looks into the passes of one device.
class CalibrationObserver : public strategy::Observer {
 public:
  /// `input` is next; this device's rows of it are `own`.
  virtual void begin(const model::ModelInput& input, Slice own) = 0;
};

/// Sees a device's rows as they are quantised, one by one; rows of padding are left out.
class RowObserver : public CalibrationObserver {
 public:
  void begin(const model::ModelInput& input, Slice own) final;
  void on_quantised(Index exchange, MatrixView<const float> rows,
                    std::span<const std::int32_t> indices) final;

 private:
  /// codes: one a group
  virtual void on_row(Index exchange, std::span<const float> row,
                      std::span<const std::int32_t> codes) = 0;

  const model::ModelInput* input_ = nullptr;
  Slice own_;
};

/// The strategy whose codebooks are made or judged.
struct CalibrationSetting {
  std::string strategy = "trace-b";
  int devices = 2;
  int threads = 1;  ///< of one device
};

/// Runs `inputs` through the strategy on `devices` threads of this process, one observer a device,
/// so that what is seen comes from the context that inference has.
///   level  of the hierarchy, -1: the finest
///   on_input  told after each input, by device 0; may be empty
/// Throws InputError when an input is too short for the devices.
void run_calibration(const model::Model& model, const CalibrationSetting& setting,
                     const compress::CodebookSet& codebooks, int level,
                     std::span<const model::ModelInput> inputs,
                     std::span<CalibrationObserver* const> observers,
                     const std::function<void()>& on_input);

/// Observers, one a device, as run_calibration takes them.
template <class T>
std::vector<CalibrationObserver*> pointers(std::vector<T>& observers) {
  std::vector<CalibrationObserver*> result;
  for (T& observer : observers) result.push_back(&observer);
  return result;
}

/// Which codebooks `strategy` codes with. Throws InputError for a strategy without any, fewer than
/// two devices (one publishes nothing), or `groups` other than 1 where rows are coded whole.
compress::CodebookUse codebook_use(const CalibrationSetting& setting, Index groups);

/// A codebook's place among those of a set: exchange after exchange, groups in order.
inline std::size_t codebook_number(const compress::CodebookUse& use, Index exchange, Index group) {
  return static_cast<std::size_t>(exchange * use.groups + group);
}

inline ops::Similarity similarity_of(const compress::CodebookUse& use) {
  return use.is_squared() ? ops::Similarity::squared : ops::Similarity::cosine;
}

}  // namespace thinwire::train
