#include "print_answer.hpp"

#include <fmt/format.h>

#include <string>

#include "thinwire/base/json.hpp"

namespace thinwire::cli {
namespace {

void print_class(const Json& entry, const Json& beside) {
  const auto name = [](const Json& e) {
    return e.at("name").is_null() ? fmt::format("class {}", e.at("label").get<int>())
                                  : e.at("name").get<std::string>();
  };
  fmt::print("    {:<24} {:>7.2f} %      {:<24} {:>7.2f} %\n", name(entry),
             entry.at("probability").get<double>() * 100, name(beside),
             beside.at("probability").get<double>() * 100);
}

}  // namespace

void print_answer(const Json& answer) {
  const std::string kind = answer.at("kind");
  if (kind == "classes") {
    fmt::print("\n  answer      {:<36}one device\n", "this strategy");
    for (std::size_t i = 0; i < answer.at("classes").size(); ++i)
      print_class(answer.at("classes").at(i), answer.at("single_classes").at(i));
    if (!answer.at("label").is_null())
      fmt::print("    true class: {}\n", answer.at("label").dump());
  } else if (kind == "pair") {
    fmt::print("\n  answer      cosine {:.6f}, one device {:.6f}",
               answer.at("cosine").get<double>(), answer.at("single_cosine").get<double>());
    if (!answer.at("score").is_null())
      fmt::print("; human score {:.2f}", answer.at("score").get<double>());
    fmt::print("\n");
  } else if (kind == "regression") {
    fmt::print("\n  answer      value {:.6f}, one device {:.6f}", answer.at("value").get<double>(),
               answer.at("single_value").get<double>());
    if (!answer.at("score").is_null())
      fmt::print("; true score {:.2f}", answer.at("score").get<double>());
    fmt::print("\n");
  } else if (kind == "next_token") {
    fmt::print("\n  answer      next token {} ({:.2f} %), one device {} ({:.2f} %)\n",
               answer.at("token").get<int>(), 100 * answer.at("probability").get<double>(),
               answer.at("single_token").get<int>(),
               100 * answer.at("single_probability").get<double>());
  } else if (kind == "language") {
    fmt::print("\n  answer      perplexity {:.4f}, one device {:.4f}",
               answer.at("perplexity").get<double>(), answer.at("single_perplexity").get<double>());
    if (answer.contains("bits_per_byte"))
      fmt::print("; bits per byte {:.4f}, one device {:.4f}",
                 answer.at("bits_per_byte").get<double>(),
                 answer.at("single_bits_per_byte").get<double>());
    fmt::print("\n");
  } else {
    fmt::print("\n  answer      embedding at cosine {:.6f} of one device's\n",
               answer.at("embedding_cosine").get<double>());
  }
}

}  // namespace thinwire::cli
