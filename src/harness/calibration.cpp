#include "thinwire/harness/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "given_options.hpp"
#include "record_parts.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/temporary_file.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/harness/progress.hpp"
#include "thinwire/harness/result_file.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

namespace fs = std::filesystem;

/// From one row to the whole sequence, each about twice the one before.
std::string default_rows(Index tokens) {
  if (tokens < 2) return "1";
  const int count = static_cast<int>(std::lround(std::log2(static_cast<double>(tokens)))) + 1;
  return fmt::format("1..{}:log:{}", tokens, std::max(2, count));
}

std::vector<Index> parse_rows(std::string_view text, Index tokens) {
  const auto parse = [&](std::string_view part) {
    const long long count = parse_integer(part);
    require_input(count >= 1 && count <= tokens, "{} rows of {} tokens: 1 to {} are right", count,
                  tokens, tokens);
    return static_cast<double>(count);
  };
  std::vector<Index> rows;
  for (const double value : list_values(text, parse)) rows.push_back(std::llround(value));
  std::ranges::sort(rows);
  const auto repeated = std::ranges::unique(rows);
  rows.erase(repeated.begin(), repeated.end());
  return rows;
}

void require_real_link(const KeyValues& fields) {
  for (const auto& [name, value] : fields)
    require_input(name != "clock" || (value != "emulated" && value != "modelled"),
                  "--clock={}: this link is only what it was told (throttled measures one that is "
                  "paced, native the network that MPI uses)",
                  value);
}

/// The link's options alone: calibrate has them only with several devices.
KeyValues fields_without(KeyValues fields, std::span<const std::string_view> names) {
  std::erase_if(fields, [&](const auto& field) {
    return std::ranges::find(names, std::string_view(field.first)) != names.end();
  });
  return fields;
}

constexpr std::string_view kLinkFields[] = {"devices",  "rate",     "latency",
                                            "topology", "overhead", "clock"};
constexpr std::string_view kModelFields[] = {"model", "tokens", "threads", "dtype"};

LinkCheck make_link(const KeyValues& fields, const std::map<std::string, std::string>& own) {
  require_real_link(fields);
  LinkCheck link = make_link_check(fields_without(fields, kModelFields), own);
  require_input(link.settings.size() == 1,
                "{} link settings: a profile has one (write one --devices, --rate, --latency and "
                "--topology)",
                link.settings.size());
  return link;
}

bool has_several_devices(const KeyValues& fields) {
  const auto devices = std::ranges::find(fields, "devices", &KeyValues::value_type::first);
  return devices != fields.end() && devices->second != "1";
}

std::vector<BlockRate> measure_rates(Session& session, const CalibrationSpec& spec,
                                     Progress* progress) {
  const RunSpec& run = spec.point.spec;
  const model::Model& model = session.model_for(spec.point);
  std::vector<BlockRate> rates;
  if (session.is_root())
    rates = measure_block_rates(
        model, spec.rows,
        {.threads = run.threads, .iterations = run.iterations, .warmup = run.warmup},
        [&](double part) { progress->advance(part); });
  session.everyone().meet();  // the others have slept here
  return rates;
}

}  // namespace

CalibrationSpec make_calibration_spec(const KeyValues& fields,
                                      const std::map<std::string, std::string>& own) {
  CalibrationSpec spec;
  spec.point = make_point(make_run_spec(fields_without(fields, kLinkFields)));
  const Index tokens = spec.point.config.tokens;
  spec.rows = parse_rows(default_rows(tokens), tokens);
  GivenOptions(own).with("rows",
                         [&](std::string_view text) { spec.rows = parse_rows(text, tokens); });
  if (has_several_devices(fields))
    spec.link = make_link(fields, own);
  else if (const auto sizes = own.find("sizes"); sizes != own.end())
    throw InputError(fmt::format("--sizes={}: payloads of a link, which takes several --devices",
                                 sizes->second));
  if (const auto file = own.find("json"); file != own.end()) spec.json = file->second;
  return spec;
}

std::optional<Profile> calibrate(Session& session, const CalibrationSpec& spec) {
  Profile profile{.model = to_json(spec.point.spec).at("model"),
                  .threads = spec.point.spec.threads,
                  .dtype = spec.point.spec.dtype,
                  .memory_bytes = available_memory_bytes(),
                  .environment = session.environment()};
  std::optional<Progress> progress;
  if (session.is_root()) {
    progress.emplace(std::vector<double>(spec.link ? 2 : 1, 1.0));
    progress->start_point(fmt::format("{} blocks", profile.model));
  }
  profile.rates = measure_rates(session, spec, progress ? &*progress : nullptr);
  if (progress) progress->finish_point();
  if (spec.link) {
    const LinkSetting& setting = spec.link->settings.front();
    if (progress) progress->start_point(fmt::format("link of {} devices", setting.devices));
    profile.timings = check_link(session, setting, spec.link->sizes, [&](double part) {
      if (progress) progress->advance(part);
    });
    if (progress) progress->finish_point();
    if (session.is_root()) profile.link = fit_link(setting, profile.timings);
  }
  if (!session.is_root()) return std::nullopt;
  return profile;
}

Json to_json(const Profile& profile, const CalibrationSpec& spec) {
  Json rates = Json::array();
  for (const BlockRate& rate : profile.rates) {
    std::vector<double> sorted = rate.gflops.samples;
    std::ranges::sort(sorted);
    rates.push_back({{"rows", rate.rows},
                     {"gflops", rate.gflops.p50},
                     {"gflops_p10", percentile(sorted, 10)},
                     {"gflops_p90", rate.gflops.p90}});
  }
  Json link = nullptr;
  if (profile.link) {
    fabric::Link fitted = spec.link->settings.front().link;  // topology and overhead as assumed
    fitted.rates = {profile.link->rate};
    fitted.latency = profile.link->latency;
    link = link_json(fitted);
  }
  return {{"schema", kProfileSchema},
          {"device",
           {{"model", profile.model},
            {"threads", profile.threads},
            {"dtype", to_string(profile.dtype)},
            {"memory_bytes", profile.memory_bytes},
            {"gflops_by_rows", std::move(rates)}}},
          {"link", std::move(link)},
          {"environment", profile.environment}};
}

void check_profile_place(const std::string& file) {
  require_writable("json", file);
  require_input(!fs::exists(file) || fs::is_regular_file(file),
                "--json={}: not a regular file, which a profile would replace (- prints it)", file);
}

void write_profile(const std::string& file, const Json& profile) {
  const std::string text = profile.dump(2) + "\n";
  TemporaryFile temporary(file);
  temporary.append(text.data(), text.size());
  temporary.move_to_destination();
}

}  // namespace thinwire::harness
