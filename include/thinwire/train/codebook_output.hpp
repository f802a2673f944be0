#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "thinwire/compress/hierarchy.hpp"
#include "thinwire/train/trainer.hpp"

namespace thinwire::train {

/// How trained codebooks are ordered in their file.
struct OutputOptions {
  std::vector<Index> levels;  ///< ascending, the last is K; empty: default_levels(K)
  compress::Dissimilarity hierarchy = compress::Dissimilarity::euclidean;
};

/// Throws InputError for levels that `training` cannot have: not ascending from 2 to K, or more
/// than one for astra, which has no hierarchy.
void check(const OutputOptions& output, const TrainingOptions& training);

/// Builds the hierarchies of a trainer that is done and writes everything that open_codebooks
/// reads, with the settings and `more` as metadata. One rank calls it.
void write_codebooks(const Trainer& trainer, const OutputOptions& output,
                     const std::map<std::string, std::string>& more,
                     const std::filesystem::path& file);

}  // namespace thinwire::train
