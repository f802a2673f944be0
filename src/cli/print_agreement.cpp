#include "print_agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "thinwire/base/json.hpp"

namespace thinwire::cli {
namespace {

/// Null is what is not finite.
double number(const Json& value) {
  return value.is_null() ? std::nan("") : value.get<double>();
}

void print_outputs(const Json& agreement) {
  const Json& top1 = agreement.at("top1");  // of embeddings there is none
  if (!top1.is_null()) {
    const double share = number(top1);
    fmt::print("{}; KL divergence {:.3g} nats; ",
               agreement.at("rows") > 1 ? fmt::format("top-1 same in {:.2f} % of rows", 100 * share)
               : share == 1             ? "top-1 same"
                                        : "top-1 DIFFERS",
               number(agreement.at("kl_divergence")));
  }
  fmt::print("output cosine {:.6f}, largest difference {:.2g} of the largest output\n",
             number(agreement.at("output_cosine")),
             number(agreement.at("largest_relative_difference")));
}

void print_hidden(const Json& agreement, const Json& answer) {
  fmt::print("  hidden      cosines, embedding first:");
  for (const Json& cosine : agreement.at("hidden_cosine")) fmt::print(" {:.4f}", number(cosine));
  if (answer.is_object()) {
    double least = 1;
    for (const Json& last : answer.at("hidden"))
      least = std::min(least, number(last.at("least_cosine")));
    fmt::print("; least row of the last {:.4f}", least);
  }
  fmt::print("\n");
}

void print_exactness(const Json& agreement) {
  const Json& exact = agreement.at("exact");
  if (exact.is_null()) return;
  if (exact.get<bool>()) {
    fmt::print("              exact, as it has to be\n");
    return;
  }
  for (const Json& phrase : agreement.at("broken"))
    fmt::print("              NOT EXACT, as it has to be: {}\n", phrase.get<std::string>());
}

}  // namespace

void print_agreement(const Json& record) {
  const Json& agreement = record.at("checks").at("agreement");
  if (!agreement.is_object()) return;
  fmt::print("{}  agreement   ", record.at("answer").is_null() ? "\n" : "");
  print_outputs(agreement);
  print_hidden(agreement, record.at("answer"));
  print_exactness(agreement);
  const Json& codebook = record.at("codebook");
  if (codebook.is_object() && codebook.at("source") == "random")
    fmt::print("              random codebooks: trained ones would say something else\n");
}

}  // namespace thinwire::cli
