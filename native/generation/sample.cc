/// @file openmanus::sample: the next token of every row of logits, each row with its own settings.
///
/// A row's result depends on that row alone: the same request draws the same token whatever else is
/// in the batch. Rows without filters, the most, are drawn in vectors (draw.h); the others here, by
/// lists of candidates, and would be drawn the same there.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "draw.h"

namespace openmanus::generation {
namespace {

using at::Tensor;

/// Columns of `settings`, float64 [rows, 5].
enum Setting { kTemperature, kTopK, kTopP, kMinP, kRepetitionPenalty, kSettings };

/// Lists of different lengths, one per row: row r has [offsets[r], offsets[r + 1]).
struct Ragged {
  const int32_t* offsets;
  const int32_t* ids;

  const int32_t* begin(int64_t row) const { return ids + offsets[row]; }
  const int32_t* end(int64_t row) const { return ids + offsets[row + 1]; }
  bool empty(int64_t row) const { return begin(row) == end(row); }
};

struct Candidate {
  int64_t id;
  double logit;  // after penalty and bias, divided by the temperature
};

/// More likely first; equal ones by id, so that the order is always the same.
bool more_likely(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// Keeps the `count` most likely, in order of likelihood.
void keep_most_likely(std::vector<Candidate>& candidates, size_t count) {
  if (count < candidates.size())
    std::nth_element(
        candidates.begin(), candidates.begin() + int64_t(count), candidates.end(), more_likely);
  candidates.resize(std::min(count, candidates.size()));
  std::sort(candidates.begin(), candidates.end(), more_likely);
}

double log_sum(const std::vector<Candidate>& candidates, double maximum) {
  double sum = 0;
  for (const Candidate& candidate : candidates) sum += std::exp(candidate.logit - maximum);
  return maximum + std::log(sum);
}

/// Keeps the fewest most likely candidates whose probabilities reach `share`.
void keep_share(std::vector<Candidate>& candidates, double share, double maximum) {
  const double total = log_sum(candidates, maximum);
  // Most of the probability is in few candidates: sort only as many as it takes.
  for (size_t sorted = 64;; sorted *= 4) {
    sorted = std::min(sorted, candidates.size());
    std::partial_sort(
        candidates.begin(), candidates.begin() + int64_t(sorted), candidates.end(), more_likely);
    double reached = 0;
    for (size_t i = 0; i < sorted; ++i) {
      reached += std::exp(candidates[i].logit - total);
      if (reached >= share || i + 1 == candidates.size()) return candidates.resize(i + 1);
    }
  }
}

Drawn draw_filtered(
    const float* logits, int64_t vocabulary, float maximum, uint64_t seed, const double* settings,
    const std::vector<double>& changed, const Ragged& allowed, int64_t row) {
  std::vector<Candidate> candidates;
  const double temperature = settings[kTemperature];
  const double divisor = temperature > 0 ? temperature : 1;
  const auto add = [&](int64_t id) { candidates.push_back({id, changed[size_t(id)] / divisor}); };
  if (!allowed.empty(row)) {
    std::for_each(allowed.begin(row), allowed.end(row), add);
  } else {
    candidates.reserve(size_t(vocabulary));
    for (int64_t id = 0; id < vocabulary; ++id) add(id);
  }
  const auto best = *std::min_element(candidates.begin(), candidates.end(), more_likely);
  const double logprob_base = model_log_sum(logits, vocabulary, maximum);
  if (!std::isfinite(logprob_base)) return {not_finite, 0, 0};
  if (!std::isfinite(best.logit)) return {nothing_allowed, 0, 0};
  if (temperature <= 0) return {best.id, double(logits[best.id]) - logprob_base, 0.0};

  const auto top_k = size_t(settings[kTopK]);
  if (top_k > 0 && top_k < candidates.size()) keep_most_likely(candidates, top_k);
  if (settings[kTopP] < 1) keep_share(candidates, settings[kTopP], best.logit);
  if (settings[kMinP] > 0) {
    const double least = best.logit + std::log(settings[kMinP]);
    candidates.erase(
        std::remove_if(
            candidates.begin(), candidates.end(),
            [least](const Candidate& candidate) { return candidate.logit < least; }),
        candidates.end());
  }
  const double total = log_sum(candidates, best.logit);
  Race race{seed, best.logit};
  for (const Candidate& candidate : candidates) race.enter(candidate.id, candidate.logit);
  return {race.winner, double(logits[race.winner]) - logprob_base, race.winning_logit - total};
}

/// The row's logits with repetition penalty and biases.
std::vector<double> change(
    const float* logits, int64_t vocabulary, double penalty, const Ragged& repeated,
    const Ragged& biased, const double* biases, int64_t row) {
  std::vector<double> changed(logits, logits + vocabulary);
  if (penalty != 1)
    for (const int32_t* id = repeated.begin(row); id != repeated.end(row); ++id) {
      double& logit = changed[size_t(*id)];
      logit = logit > 0 ? logit / penalty : logit * penalty;
    }
  for (int64_t i = biased.offsets[row]; i < biased.offsets[row + 1]; ++i)
    changed[size_t(biased.ids[i])] += biases[i];
  return changed;
}

void check_ragged(
    const char* name, const Tensor& offsets, const Tensor& ids, int64_t rows, int64_t vocabulary) {
  TORCH_CHECK(
      offsets.scalar_type() == at::kInt && ids.scalar_type() == at::kInt &&
          offsets.is_contiguous() && ids.is_contiguous() && offsets.dim() == 1 && ids.dim() == 1 &&
          offsets.numel() == rows + 1,
      "sample: ", name, " must be int32 offsets [rows + 1] and int32 ids");
  const int32_t* at = offsets.data_ptr<int32_t>();
  TORCH_CHECK(
      at[0] == 0 && at[rows] == ids.numel() && std::is_sorted(at, at + rows + 1), "sample: ", name,
      "'s offsets must rise from 0 to the number of ids");
  const int32_t* first = ids.data_ptr<int32_t>();
  TORCH_CHECK(
      std::all_of(
          first, first + ids.numel(),
          [vocabulary](int32_t id) { return id >= 0 && id < vocabulary; }),
      "sample: ", name, " has an id outside the vocabulary of ", vocabulary);
}

/// float64 [rows, 3]: a Drawn for every row of logits.
Tensor sample(
    const Tensor& logits, const Tensor& seeds, const Tensor& settings,
    const Tensor& repeated_offsets, const Tensor& repeated_ids, const Tensor& bias_offsets,
    const Tensor& bias_ids, const Tensor& biases, const Tensor& allowed_offsets,
    const Tensor& allowed_ids) {
  TORCH_CHECK(
      logits.dim() == 2 && logits.scalar_type() == at::kFloat && logits.size(1) > 0,
      "sample: logits must be float32 [rows, vocabulary], got ", logits.scalar_type(), " ",
      logits.sizes());
  const int64_t rows = logits.size(0), vocabulary = logits.size(1);
  TORCH_CHECK(
      seeds.scalar_type() == at::kLong && seeds.numel() == rows &&
          settings.scalar_type() == at::kDouble && settings.dim() == 2 &&
          settings.size(0) == rows && settings.size(1) == kSettings && settings.is_contiguous(),
      "sample: seeds must be int64 [rows] and settings float64 [rows, ", int(kSettings), "]");
  check_ragged("repeated", repeated_offsets, repeated_ids, rows, vocabulary);
  check_ragged("bias", bias_offsets, bias_ids, rows, vocabulary);
  check_ragged("allowed", allowed_offsets, allowed_ids, rows, vocabulary);
  TORCH_CHECK(
      biases.scalar_type() == at::kDouble && biases.numel() == bias_ids.numel(),
      "sample: one float64 bias per id is needed");
  const Tensor all = logits.contiguous(), draws = seeds.contiguous();
  const auto ragged = [](const Tensor& offsets, const Tensor& ids) {
    return Ragged{offsets.data_ptr<int32_t>(), ids.data_ptr<int32_t>()};
  };
  const Ragged repeated = ragged(repeated_offsets, repeated_ids);
  const Ragged biased = ragged(bias_offsets, bias_ids);
  const Ragged allowed = ragged(allowed_offsets, allowed_ids);
  Tensor results = at::empty({rows, 3}, logits.options().dtype(at::kDouble));
  at::parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* own = all.data_ptr<float>() + row * vocabulary;
      const double* with = settings.data_ptr<double>() + row * kSettings;
      const auto seed = uint64_t(draws.data_ptr<int64_t>()[row]);
      const float maximum = highest(own, vocabulary);
      const bool whole = with[kRepetitionPenalty] == 1 && biased.empty(row) && allowed.empty(row);
      const bool filtered = with[kTopK] > 0 || with[kTopP] < 1 || with[kMinP] > 0;
      Drawn drawn;
      if (whole && with[kTemperature] <= 0)
        drawn = draw_greedy(own, vocabulary, maximum);
      else if (whole && !filtered)
        drawn = draw_plain(own, vocabulary, seed, with[kTemperature], maximum);
      else
        drawn = draw_filtered(
            own, vocabulary, maximum, seed, with,
            change(
                own, vocabulary, with[kRepetitionPenalty], repeated, biased,
                biases.data_ptr<double>(), row),
            allowed, row);
      double* result = results.data_ptr<double>() + row * 3;
      result[0] = double(drawn.id);
      result[1] = drawn.logprob;
      result[2] = drawn.sampled_logprob;
    }
  });
  return results;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(openmanus, library) {
  library.def(
      "sample(Tensor logits, Tensor seeds, Tensor settings, Tensor repeated_offsets, "
      "Tensor repeated_ids, Tensor bias_offsets, Tensor bias_ids, Tensor biases, "
      "Tensor allowed_offsets, Tensor allowed_ids) -> Tensor");
}
TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("sample", sample); }

}  // namespace openmanus::generation
