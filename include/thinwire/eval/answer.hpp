#pragma once
#include <span>
#include <string>
#include <vector>

#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire::eval {

struct ClassProbability {
  int label = 0;
  double probability = 0;
};
/// The `count` likeliest classes of logits [1, labels], likeliest first; ties to the lower label.
std::vector<ClassProbability> likeliest(std::span<const float> logits, int count);

double cosine(std::span<const float> a, std::span<const float> b);

/// Mean of -ln p(next token) in fp64 over the predictions 1 ... N - 1.   logits [N, vocabulary]
/// Throws InputError for fewer than two tokens.
double next_token_loss(MatrixView<const float> logits, std::span<const std::int32_t> ids);

}  // namespace thinwire::eval
