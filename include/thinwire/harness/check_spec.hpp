#pragma once
#include <optional>
#include <string>

#include "thinwire/cost/workload.hpp"
#include "thinwire/harness/run_spec.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::harness {

/// Rules over the whole spec, those about the model only when its config is given.
/// Throws InputError: "--threads=0: a device computes with at least one thread".
void check_options(const RunSpec& spec, const model::ModelConfig* config = nullptr);

/// N when no file says otherwise.
Index default_tokens(const RunSpec& spec, const model::ModelConfig& config);

/// Why a sequence of `tokens` (N) cannot run under a spec that is right otherwise: P > N (tensor:
/// heads, pipeline: blocks), L > n_p, or a device without enough memory (by how much). Nothing when
/// it can. A sweep records such a point as skipped; a single run refuses it.
std::optional<std::string> misfit(const RunSpec& spec, const model::ModelConfig& config,
                                  Index tokens);

/// check_options, then misfit as an InputError for the sequence length that is known before an
/// input file is read.
void check(const RunSpec& spec, const model::ModelConfig* config = nullptr);

/// For specs that run here rather than are predicted. Throws InputError unless this CPU multiplies
/// what spec.dtype says.
void require_cpu(const RunSpec& spec);

/// L of a sequence of `tokens` (N): as given, or from the compression rate; 0 without either.
Index segments_for(const RunSpec& spec, Index tokens);

/// What `cost` wants to know, of a resolved spec (codebook_choice.hpp). Borrows spec.strategy.
cost::Workload to_workload(const RunSpec& spec, const model::ModelConfig& config, Index tokens);

}  // namespace thinwire::harness
