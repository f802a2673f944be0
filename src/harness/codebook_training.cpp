#include "thinwire/harness/codebook_training.hpp"

#include <chrono>
#include <filesystem>
#include <memory>

#include "add_index_tables.hpp"
#include "calibration_samples.hpp"
#include "given_options.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/progress.hpp"

namespace thinwire::harness {
namespace {

namespace fs = std::filesystem;

fs::path state_file(const CodebookTrainingSpec& spec) {
  return spec.out + ".state";
}

std::vector<Index> parse_levels(std::string_view text) {
  std::vector<Index> levels;
  for (const std::string& size : split(text, ',')) levels.push_back(parse_integer(size));
  return levels;
}

/// Where a training begins.
enum class Beginning { anew, resumed, complete };

/// A file that a training with these very settings has written before.
bool is_complete(const fs::path& file, const std::map<std::string, std::string>& settings) {
  if (!fs::exists(file)) return false;
  const SafetensorsFile written(file);
  for (const auto& [key, value] : settings) {
    const auto found = written.metadata().find(key);
    if (found == written.metadata().end() || found->second != value) return false;
  }
  return true;
}

Beginning choose_beginning(const CodebookTrainingSpec& spec, const train::Trainer& trainer) {
  if (!spec.resumes) return Beginning::anew;
  if (fs::exists(state_file(spec))) return Beginning::resumed;
  return is_complete(spec.out, trainer.settings()) ? Beginning::complete : Beginning::anew;
}

/// As the root found it: ranks may see a file appear at different moments.
Beginning agree_on_beginning(Session& session, const CodebookTrainingSpec& spec,
                             const train::Trainer& trainer) {
  std::string number;
  if (session.is_root()) number = std::to_string(static_cast<int>(choose_beginning(spec, trainer)));
  return static_cast<Beginning>(parse_integer(session.share(number)));
}

/// One point a step; nothing is shown on ranks other than the root.
std::unique_ptr<Progress> make_progress(const Session& session, const train::Trainer& trainer) {
  if (!session.is_root()) return nullptr;
  std::vector<double> weights;
  for (Index step = 0; step < trainer.steps(); ++step) weights.push_back(trainer.work(step));
  auto progress = std::make_unique<Progress>(std::move(weights));
  for (Index step = 0; step < trainer.steps_done(); ++step) progress->skip_point();
  return progress;
}

void run_steps(Session& session, const CodebookTrainingSpec& spec, train::Trainer& trainer) {
  const std::unique_ptr<Progress> progress = make_progress(session, trainer);
  // A place that cannot be written shall show before the first step, not after it.
  if (session.is_root()) trainer.save(state_file(spec));
  while (!trainer.is_done()) {
    if (progress) progress->start_point(trainer.step_name());
    trainer.step([&](double part) {
      if (progress) progress->advance(part);
    });
    if (session.is_root()) trainer.save(state_file(spec));
    if (progress) progress->finish_point();
  }
}

}  // namespace

CodebookTrainingSpec make_training_spec(const std::map<std::string, std::string>& values) {
  const GivenOptions given(values);
  CodebookTrainingSpec spec;
  train::TrainingOptions& training = spec.training;
  spec.model = given.require("model");
  spec.input = given.require("input");
  spec.out = given.require("out");
  given.require("samples");
  given.samples("samples", spec.samples);
  given.integer("tokens", spec.tokens);
  given.with("strategy", [&](std::string_view name) { training.setting.strategy = name; });
  given.integer("devices", training.setting.devices);
  given.integer("threads", training.setting.threads);
  given.integer("codewords", training.codewords);
  given.integer("groups", training.groups);
  given.integer("batch", training.batch);
  given.integer("epochs", training.epochs);
  given.integer("seed", training.seed, 0);
  given.integer("subspace-width", training.subspace_width);
  given.with("update", [&](std::string_view name) { training.update = train::parse_update(name); });
  given.with("levels", [&](std::string_view text) { spec.output.levels = parse_levels(text); });
  given.with("hierarchy", [&](std::string_view name) {
    spec.output.hierarchy = compress::parse_dissimilarity(name);
  });
  spec.resumes = given.is_on("resume");
  return spec;
}

TrainingSummary train_codebooks(Session& session, const CodebookTrainingSpec& spec) {
  const auto start = std::chrono::steady_clock::now();
  const Point point = make_point(
      make_run_spec({{"model", spec.model}, {"seed", std::to_string(spec.training.seed)}}));
  train::check(spec.training, point.config);
  train::check(spec.output, spec.training);
  const CalibrationSamples samples(spec.model, point.config, spec.input, spec.samples, spec.tokens,
                                   eval::BytesPart::train);
  train::Trainer trainer(session.model_for(point), spec.training, samples, session.everyone());

  const Beginning beginning = agree_on_beginning(session, spec, trainer);
  if (beginning == Beginning::complete) return {.was_complete = true};
  if (beginning == Beginning::resumed) trainer.resume(state_file(spec));
  run_steps(session, spec, trainer);

  // Tables of indices are made with the codebooks as a reader gets them: from their file, which is
  // not the one asked for before it is whole.
  const fs::path codebooks = spec.out + ".codebooks";
  if (session.is_root()) train::write_codebooks(trainer, spec.output, {}, codebooks);
  session.everyone().meet();
  add_index_tables(session, point, {spec.training.setting, trainer.use()}, samples,
                   {.from = codebooks, .to = spec.out});
  if (session.is_root()) {
    fs::remove(codebooks);
    fs::remove(state_file(spec));
  }
  session.everyone().meet();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return {.tokens = trainer.rows_seen(), .seconds = taken.count()};
}

}  // namespace thinwire::harness
