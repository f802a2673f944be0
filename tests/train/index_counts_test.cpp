#include "thinwire/train/index_counts.hpp"

#include <gtest/gtest.h>

#include "support/local_run.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/compress/index_tables.hpp"
#include "thinwire/train/codebook_output.hpp"
#include "train/tiny_training.hpp"

namespace thinwire::train {
namespace {

constexpr Index kSamples = 10;

/// Codebooks of a tiny model in a file without tables.
class Tabled : public testing::TestWithParam<const char*> {
 protected:
  Tabled() {
    const auto solo = fabric::make_solo_transport();
    Trainer trainer(model_, options_, samples_, *solo);
    run_to_end(trainer);
    write_codebooks(trainer, {}, {}, file());
  }

  std::filesystem::path file() const { return folder_ / "codebooks.safetensors"; }
  std::unique_ptr<compress::CodebookSource> open(const std::filesystem::path& path) const {
    return compress::open_codebooks(path, model_.config(), use_, model_.fingerprint());
  }
  IndexCounts count(fabric::Transport& ranks) const {
    const auto source = open(file());
    const compress::CodebookSet set(model_, use_, *source, {std::pmr::new_delete_resource()});
    return count_indices(model_, options_.setting, set, samples_, ranks, {});
  }

  test::TemporaryFolder folder_;
  model::Model model_ = test::load_model(kModels / "vit-tiny");
  TrainingOptions options_ = tiny_options(GetParam());
  compress::CodebookUse use_ = codebook_use(options_.setting, options_.groups);
  RandomSamples samples_{model_.config(), kSamples};
};

TEST_P(Tabled, EveryRowIsCountedOnceAnExchange) {
  const auto solo = fabric::make_solo_transport();
  const IndexCounts counts = count(*solo);

  const int finest = counts.levels() - 1;
  for (Index exchange = 0; exchange < counts.layers(); ++exchange) {
    std::int64_t rows = 0, with_previous = 0;
    for (const auto& entry : counts.at(exchange, finest, 0).entries()) {
      rows += entry.count;
      with_previous += entry.context.previous >= 0 ? entry.count : 0;
    }
    const bool is_coded = use_.codes(exchange);
    const bool has_previous = exchange > 0 && use_.codes(exchange - 1);
    EXPECT_EQ(rows, is_coded ? kSamples * model_.config().tokens : 0) << "exchange " << exchange;
    EXPECT_EQ(with_previous, has_previous ? rows : 0) << "exchange " << exchange;
  }
}

TEST_P(Tabled, RanksCountAsOneDoes) {
  const auto solo = fabric::make_solo_transport();
  const IndexCounts alone = count(*solo);

  test::on_devices(2, [&](fabric::Transport& ranks) {
    const IndexCounts shared = count(ranks);
    const int finest = alone.levels() - 1;
    for (Index exchange = 0; exchange < alone.layers(); ++exchange)
      EXPECT_EQ(shared.at(exchange, finest, 0).flat(), alone.at(exchange, finest, 0).flat());
  });
}

TEST_P(Tabled, TablesAreAllThatAFileGains) {
  const auto solo = fabric::make_solo_transport();
  const auto before = open(file());
  ASSERT_FALSE(before->has_index_tables());
  const std::filesystem::path coded = folder_ / "coded.safetensors";

  write_index_tables(file(), count(*solo), {{"index_tables", "of a test"}}, coded);

  const auto after = open(coded);
  EXPECT_TRUE(after->has_index_tables());
  EXPECT_EQ(after->fingerprint(), before->fingerprint());
  EXPECT_NE(after->fingerprint_with_tables(), before->fingerprint());
  const compress::CodebookSet set(model_, use_, *after, {std::pmr::new_delete_resource()},
                                  compress::WithIndexTables::yes);
  for (std::size_t level = 0; level < set.levels().size(); ++level)
    EXPECT_EQ(set.index_tables(1, static_cast<int>(level)).front().codewords(),
              set.levels()[level]);
  const SafetensorsFile old_file(file()), new_file(coded);
  for (const auto& [name, tensor] : old_file.tensors())
    EXPECT_TRUE(std::ranges::equal(new_file.at(name).bytes, tensor.bytes)) << name;
  EXPECT_EQ(new_file.metadata().at("index_tables"), "of a test");
}

TEST_P(Tabled, DamagedTablesAreRefusedByName) {
  const auto solo = fabric::make_solo_transport();
  write_index_tables(file(), count(*solo), {}, file());
  SafetensorsWriter writer;
  const SafetensorsFile whole(file());
  std::string damaged;
  for (const auto& [name, tensor] : whole.tensors()) {
    const bool is_first = damaged.empty() && name.find("coding.1") != std::string::npos;
    if (is_first) damaged = name;
    writer.add_raw(name, tensor.type_name, is_first ? std::vector<Index>{2} : tensor.shape,
                   is_first ? tensor.bytes.first(4) : tensor.bytes);
  }
  writer.write(folder_ / "damaged.safetensors");
  const auto source = open(folder_ / "damaged.safetensors");

  const std::string message = test::input_error([&] { (void)source->index_tables(1, 0, 0); });

  EXPECT_TRUE(test::mentions(message, {"damaged.safetensors", damaged}));
}

INSTANTIATE_TEST_SUITE_P(Strategies, Tabled, testing::Values("trace-b", "trace-nb", "astra"));

}  // namespace
}  // namespace thinwire::train
