/// @file openmanus::sample_elsewhere: the same draws as openmanus::sample, of logits on any device: in
/// libtorch's operators, with one copy to the device. Its twin says what each step is for.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "chunked.h"
#include "copies.h"

namespace openmanus::devices {
namespace {

using at::Tensor;

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Columns of `settings`.
enum Setting { kTemperature, kTopK, kTopP, kMinP, kRepetitionPenalty, kSettings };
/// In place of an id, as in generation/draw.h.
constexpr double not_finite = -1, nothing_allowed = -2;

/// Numbers for the device, gathered on the host and sent at once.
class Upload {
 public:
  struct Place {
    int64_t begin;
    int64_t count;
  };

  template <typename Number>
  Place add(const Number* values, int64_t count) {
    const Place place{int64_t(numbers_.size()), count};
    numbers_.insert(numbers_.end(), values, values + count);
    return place;
  }

  void send(const at::Device& device) {
    const auto options = at::TensorOptions().dtype(at::kDouble).pinned_memory(device.is_cuda());
    Tensor host = at::empty({int64_t(numbers_.size())}, options);
    std::copy(numbers_.begin(), numbers_.end(), host.data_ptr<double>());
    openmanus::countToDevice(host.nbytes());
    sent_ = host.to(device, /*non_blocking=*/device.is_cuda());
  }

  Tensor numbers(const Place& place) const { return sent_.narrow(0, place.begin, place.count); }
  Tensor integers(const Place& place) const { return numbers(place).to(at::kLong); }

 private:
  std::vector<double> numbers_;
  Tensor sent_;
};

/// Lists of different lengths as pairs of row and id.
struct Pairs {
  Upload::Place rows;
  Upload::Place ids;

  Pairs(Upload& upload, const Tensor& offsets, const Tensor& ids) {
    const int32_t* at = offsets.data_ptr<int32_t>();
    std::vector<int32_t> of(static_cast<size_t>(ids.numel()));
    for (int64_t row = 0; row + 1 < offsets.numel(); ++row)
      std::fill(of.begin() + at[row], of.begin() + at[row + 1], int32_t(row));
    rows = upload.add(of.data(), int64_t(of.size()));
    this->ids = upload.add(ids.data_ptr<int32_t>(), ids.numel());
  }

  bool any() const { return ids.count > 0; }
};

/// 32 bits kept, of numbers in 64.
Tensor low(const Tensor& bits) { return bits.bitwise_and(int64_t(0xffffffff)); }

Tensor mix(Tensor x) {
  x = low(x.bitwise_xor(x.bitwise_right_shift(16)).mul(int64_t(0x21f0aaad)));
  x = low(x.bitwise_xor(x.bitwise_right_shift(15)).mul(int64_t(0xd35a2d97)));
  return x.bitwise_xor(x.bitwise_right_shift(15));
}

/// 32 random bits [rows, vocabulary]; the halves of the seeds are [rows, 1].
Tensor hashed(const Tensor& seed_low, const Tensor& seed_high, const Tensor& ids) {
  const Tensor first = low(low(ids.mul(int64_t(0x9e3779b9))).unsqueeze(0).add(seed_low));
  return mix(mix(first).bitwise_xor(seed_high));
}

/// Which candidates the filters keep [rows, vocabulary]; x has -infinity where nothing may be drawn.
Tensor kept(const Tensor& x, const Tensor& top_k, const Tensor& top_p) {
  const auto [sorted, order] = x.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
  const Tensor rank =
      at::arange(x.size(1), at::TensorOptions().dtype(at::kDouble).device(x.device())).unsqueeze(0);
  const Tensor first = rank.lt(at::where(top_k.gt(0), top_k, at::full_like(top_k, infinity)));
  const Tensor chances = sorted.masked_fill(first.logical_not(), -infinity).softmax(1);
  // A candidate is in if those before it do not reach the share; all are where nothing is asked.
  const Tensor before = chances.cumsum(1).sub(chances);
  const Tensor inside = first.logical_and(before.lt(top_p).logical_or(top_p.ge(1)));
  return at::zeros_like(inside).scatter(1, order, inside);
}

Tensor sample_elsewhere(
    const Tensor& logits, const Tensor& seeds, const Tensor& settings,
    const Tensor& repeated_offsets, const Tensor& repeated_ids, const Tensor& bias_offsets,
    const Tensor& bias_ids, const Tensor& biases, const Tensor& allowed_offsets,
    const Tensor& allowed_ids) {
  at::NoGradGuard no_grad;
  const WithoutAutocast precise;
  const int64_t rows = logits.size(0), vocabulary = logits.size(1);
  TORCH_CHECK(
      seeds.device().is_cpu() && settings.device().is_cpu() && settings.is_contiguous() &&
          settings.scalar_type() == at::kDouble && seeds.scalar_type() == at::kLong,
      "sample_elsewhere: seeds and settings must be on the host, int64 and float64");
  Upload upload;
  const auto* with = settings.data_ptr<double>();
  const auto most = [&](Setting column, auto than) {
    bool any = false;
    for (int64_t row = 0; row < rows; ++row) any |= than(with[row * kSettings + column]);
    return any;
  };
  const bool penalised = most(kRepetitionPenalty, [](double value) { return value != 1; });
  const bool sorted = most(kTopK, [](double value) { return value > 0; }) ||
                      most(kTopP, [](double value) { return value < 1; });
  const bool bounded = most(kMinP, [](double value) { return value > 0; });
  const auto all = upload.add(with, rows * kSettings);
  std::vector<double> halves[2];
  for (int64_t row = 0; row < rows; ++row) {
    const auto seed = uint64_t(seeds.data_ptr<int64_t>()[row]);
    halves[0].push_back(double(uint32_t(seed)));
    halves[1].push_back(double(uint32_t(seed >> 32)));
  }
  const auto lows = upload.add(halves[0].data(), rows), highs = upload.add(halves[1].data(), rows);
  const Pairs repeated(upload, repeated_offsets, repeated_ids);
  const Pairs biased(upload, bias_offsets, bias_ids);
  const Pairs allowed(upload, allowed_offsets, allowed_ids);
  const auto added = upload.add(biases.data_ptr<double>(), biases.numel());
  std::vector<double> limited(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row)
    limited[size_t(row)] =
        allowed_offsets.data_ptr<int32_t>()[row] != allowed_offsets.data_ptr<int32_t>()[row + 1];
  const auto limits = upload.add(limited.data(), rows);
  upload.send(logits.device());

  const Tensor setting = upload.numbers(all).view({rows, kSettings});
  const auto column = [&](Setting name) { return setting.narrow(1, name, 1); };  // [rows, 1]
  const Tensor plain = logits.to(at::kDouble);
  const Tensor base = plain.logsumexp(1);  // under the model
  Tensor x = plain;
  if (penalised && repeated.any()) {
    const Tensor row = upload.integers(repeated.rows), id = upload.integers(repeated.ids);
    const Tensor value = x.index({row, id});
    const Tensor penalty = column(kRepetitionPenalty).squeeze(1).index_select(0, row);
    x = x.index_put({row, id}, at::where(value.gt(0), value / penalty, value * penalty));
  }
  if (biased.any())
    x = x.index_put(
        {upload.integers(biased.rows), upload.integers(biased.ids)}, upload.numbers(added),
        /*accumulate=*/true);
  if (allowed.any()) {
    const Tensor listed = at::zeros_like(x, x.options().dtype(at::kBool))
                              .index_put(
                                  {upload.integers(allowed.rows), upload.integers(allowed.ids)},
                                  at::ones({}, x.options().dtype(at::kBool)));
    const Tensor free = upload.numbers(limits).eq(0).unsqueeze(1);
    x = x.masked_fill(listed.logical_or(free).logical_not(), -infinity);
  }
  const Tensor greedy = column(kTemperature).le(0);
  x = x / at::where(greedy, at::ones_like(column(kTemperature)), column(kTemperature));
  const Tensor best = x.amax(1, /*keepdim=*/true);
  Tensor candidates = x;
  if (sorted)
    candidates = x.masked_fill(kept(x, column(kTopK), column(kTopP)).logical_not(), -infinity);
  if (bounded) {
    const Tensor least = best + column(kMinP).log();  // -infinity where nothing is asked
    candidates = candidates.masked_fill(x.lt(least), -infinity);
  }
  const Tensor total = candidates.logsumexp(1);
  const Tensor ids =
      at::arange(vocabulary, at::TensorOptions().dtype(at::kLong).device(logits.device()));
  const Tensor bits =
      hashed(upload.integers(lows).unsqueeze(1), upload.integers(highs).unsqueeze(1), ids);
  const Tensor unit = bits.bitwise_right_shift(1).to(at::kDouble).add(0.5).mul(0x1p-31);
  // Of those that cannot be drawn the rate is 0, and they never arrive.
  const Tensor time = unit.neg().log1p().neg() / (candidates - best).exp();
  const Tensor winner = at::where(
      greedy.squeeze(1), x.argmax(1), time.nan_to_num(infinity, infinity, infinity).argmin(1));
  const auto of_winner = [&](const Tensor& values) {
    return values.gather(1, winner.unsqueeze(1)).squeeze(1);
  };
  const Tensor drawn =
      at::where(greedy.squeeze(1), at::zeros_like(total), of_winner(candidates) - total);
  const Tensor problem = at::where(
      base.isfinite(), at::full_like(base, nothing_allowed), at::full_like(base, not_finite));
  const Tensor good = base.isfinite().logical_and(best.squeeze(1).isfinite());
  return at::stack(
      {at::where(good, winner.to(at::kDouble), problem), of_winner(plain) - base, drawn}, 1);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(openmanus, library) {
  library.def(
      "sample_elsewhere(Tensor logits, Tensor seeds, Tensor settings, Tensor repeated_offsets, "
      "Tensor repeated_ids, Tensor bias_offsets, Tensor bias_ids, Tensor biases, "
      "Tensor allowed_offsets, Tensor allowed_ids) -> Tensor");
}
TORCH_LIBRARY_IMPL(openmanus, CompositeImplicitAutograd, library) {
  library.impl("sample_elsewhere", sample_elsewhere);
}

}  // namespace openmanus::devices
