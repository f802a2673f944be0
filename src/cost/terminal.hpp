#pragma once
#include <span>
#include <vector>

#include "schedule.hpp"

namespace thinwire::cost {

// PRISM's terminal (METHODS 7): it distributes what the devices start from and collects what they
// end with.

/// The terminal scatters messages[p] behind the device's index, a 4-byte header; a message without
/// payload is not sent. All wait for it.
void distribute(std::span<const compress::FrameSize> messages, Schedule& schedule);

/// The devices send their answers, answers[p] bytes, to the terminal.
void collect(std::span<const std::int64_t> answers, Schedule& schedule);

/// Each device holds the message that it got for the whole pass.
void add_message_memory(Prediction& prediction);

/// Where the head's results lie when the devices are done.
struct AnswerPlace {
  int device = 0;                ///< that has logits of the classifier or the pooled embedding
  std::vector<Index> head_rows;  ///< [P] rows of logits of a language model
};
/// Bytes that each device sends of one input's answer.
std::vector<std::int64_t> answer_bytes(const Workload& workload, const AnswerPlace& place);

}  // namespace thinwire::cost
