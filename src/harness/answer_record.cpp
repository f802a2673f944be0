#include "thinwire/harness/answer_record.hpp"

#include <cmath>
#include <numbers>

#include "thinwire/base/json.hpp"
#include "thinwire/eval/agreement.hpp"
#include "thinwire/eval/answer.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::harness {
namespace {

constexpr int kClassesShown = 5;

Json classes(const Point& point, const Capture& capture) {
  Json list = Json::array();
  for (const auto& [label, probability] :
       eval::likeliest(capture.values.view().row(0), kClassesShown)) {
    const auto index = static_cast<std::size_t>(label);
    const auto& names = point.config.label_names;
    list.push_back({{"label", label},
                    {"name", index < names.size() ? Json(names[index]) : Json(nullptr)},
                    {"probability", probability}});
  }
  return list;
}

Json class_answer(const Point& point, const Capture& split, const Capture& single) {
  const Json ours = classes(point, split);
  const Json alone = classes(point, single);
  return {{"kind", "classes"},
          {"label", point.sample.label ? Json(*point.sample.label) : Json(nullptr)},
          {"classes", ours},
          {"single_classes", alone},
          {"same_top1", ours.at(0).at("label") == alone.at(0).at("label")}};
}

Json pair_answer(const Point& point, std::span<const Capture> split,
                 std::span<const Capture> single) {
  return {{"kind", "pair"},
          {"score", point.sample.score ? Json(*point.sample.score) : Json(nullptr)},
          {"label", point.sample.label ? Json(*point.sample.label) : Json(nullptr)},
          {"cosine", pair_cosine(split)},
          {"single_cosine", pair_cosine(single)}};
}

/// A terminal that collects the last row alone: which token comes next.
Json next_token_answer(const Capture& split, const Capture& single) {
  const auto likeliest_of = [](const Capture& capture) {
    const auto rows = capture.values.view();
    return eval::likeliest(rows.row(rows.rows() - 1), 1).front();
  };
  const auto ours = likeliest_of(split), alone = likeliest_of(single);
  return {{"kind", "next_token"},
          {"token", ours.label},
          {"probability", ours.probability},
          {"single_token", alone.label},
          {"single_probability", alone.probability},
          {"same_top1", ours.label == alone.label}};
}

Json language_answer(const Point& point, const Capture& split, const Capture& single) {
  const auto& ids = point.sample.sequences[0].ids;
  Json answer{{"kind", "language"}};
  for (const auto& [prefix, capture] : {std::pair{"", &split}, {"single_", &single}}) {
    const double loss = eval::next_token_loss(capture->values.view(), ids);
    answer[fmt::format("{}perplexity", prefix)] = std::exp(loss);
    if (point.sample.is_bytes)
      answer[fmt::format("{}bits_per_byte", prefix)] = loss / std::numbers::ln2;
  }
  return answer;
}

Json regression_answer(const Point& point, const Capture& split, const Capture& single) {
  return {{"kind", "regression"},
          {"score", point.sample.score ? Json(*point.sample.score) : Json(nullptr)},
          {"value", split.values(0, 0)},
          {"single_value", single.values(0, 0)}};
}

Json embedding_answer(const Capture& split, const Capture& single) {
  return {
      {"kind", "embedding"},
      {"embedding_cosine", eval::cosine(split.values.view().row(0), single.values.view().row(0))}};
}

Json kind_of_answer(const Point& point, std::span<const Capture> split,
                    std::span<const Capture> single) {
  switch (point.config.head) {
    case model::HeadKind::language_model:
      if (split[0].values.rows() < single[0].values.rows())
        return next_token_answer(split[0], single[0]);
      return language_answer(point, split[0], single[0]);
    case model::HeadKind::mean_pooling:
      return split.size() == 2 ? pair_answer(point, split, single)
                               : embedding_answer(split[0], single[0]);
    case model::HeadKind::class_token:
    case model::HeadKind::pooler:
      break;
  }
  return point.config.is_regression() ? regression_answer(point, split[0], single[0])
                                      : class_answer(point, split[0], single[0]);
}

/// Over all sequences: how far the last hidden states are from the single device's.
Json hidden_agreement(const Point& point, std::span<const Capture> split,
                      std::span<const Capture> single) {
  Json list = Json::array();
  for (std::size_t s = 0; s < split.size(); ++s) {
    const eval::HiddenAgreement agreement = eval::compare_hidden(
        split[s].hidden.back().view(), single[s].hidden.back().view(), point.sample.sequences[s]);
    list.push_back({{"mean_cosine", agreement.mean_cosine},
                    {"least_cosine", agreement.least_cosine},
                    {"relative_difference", agreement.relative_difference}});
  }
  return list;
}

/// `<name>.<l>` for every matrix that holds anything; a single column as [rows].
template <class T>
void add_each(SafetensorsWriter& writer, std::string_view name, std::string_view suffix,
              std::span<const Matrix<T>> matrices) {
  for (std::size_t l = 0; l < matrices.size(); ++l) {
    const auto values = matrices[l].view();
    if (values.size() == 0) continue;
    std::vector<Index> shape{values.rows(), values.cols()};
    if (values.cols() == 1) shape.pop_back();
    writer.add(fmt::format("{}.{}{}", name, l, suffix), std::move(shape), values.elements());
  }
}

}  // namespace

double pair_cosine(std::span<const Capture> captures) {
  return eval::cosine(captures[0].values.view().row(0), captures[1].values.view().row(0));
}

Json answer_record(const Point& point, std::span<const Capture> split,
                   std::span<const Capture> single) {
  Json answer = kind_of_answer(point, split, single);
  answer["hidden"] = hidden_agreement(point, split, single);
  return answer;
}

void write_outputs(const Point& point, std::span<const Capture> split) {
  SafetensorsWriter writer;
  const bool is_embedding = point.config.head == model::HeadKind::mean_pooling;
  for (std::size_t s = 0; s < split.size(); ++s) {
    const std::string suffix = s == 0 ? "" : fmt::format(".{}", s);
    const auto values = split[s].values.view();
    std::vector<Index> shape{values.rows(), values.cols()};
    if (values.rows() == 1) shape.erase(shape.begin());
    writer.add((is_embedding ? "embedding" : "logits") + suffix, shape, values.elements());
    if (!point.spec.hidden) continue;
    add_each<float>(writer, "hidden", suffix, split[s].hidden);
    add_each<std::int32_t>(writer, "indices", suffix, split[s].indices);
  }
  writer.write(point.spec.outputs);
}

}  // namespace thinwire::harness
