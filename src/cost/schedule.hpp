#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "thinwire/cost/workload.hpp"

namespace thinwire::cost {

/// Writes down what the devices do in the order in which they do it: work, publishing, waiting.
/// The terminal, if there is one, is the member behind the last device.
class Schedule {
 public:
  Schedule(int devices, bool has_terminal);

  int devices() const { return devices_; }
  bool has_terminal() const { return std::ssize(since_) > devices_; }

  /// Each device p goes on with work(p).
  template <class Work>
  void on_devices(Work&& work) {
    for (int p = 0; p < devices_; ++p) on_device(p, work(p));
  }
  void on_device(int device, const Operations& work);
  void on_terminal(const Operations& work);
  /// All that devices have done so far.
  const Operations& work_of_devices() const { return work_of_devices_; }

  /// Every member publishes; `exchange` comes without its work.
  void publish(ScheduledExchange exchange);
  /// Every member waits for what was published last.
  void wait();

  /// The schedule, and what the devices do and send in total.
  Prediction finish() &&;

 private:
  int devices_;
  std::vector<Operations> since_;  // [members] since the last publishing or waiting
  std::vector<ScheduledExchange> exchanges_;
  Operations work_of_devices_;
};

/// Payloads of all devices, one a device.
ScheduledExchange all_gather_of(std::span<const compress::FrameSize> payloads);

/// `rows` rows of `width` values.
compress::FrameSize rows_payload(Index rows, Index width,
                                 compress::RowFormat format = compress::RowFormat::fp32);

/// One message with several payloads in it.
compress::FrameSize operator+(const compress::FrameSize& a, const compress::FrameSize& b);
/// What is left of it without one of them.
compress::FrameSize operator-(const compress::FrameSize& whole, const compress::FrameSize& part);

}  // namespace thinwire::cost
