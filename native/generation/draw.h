/// @file Drawing from one row of logits: what the plain and the filtered way share.
///
/// The draw is a race: each candidate's time is exponential with its probability as rate, from a hash
/// of the row's seed and the candidate's id, and the first one wins. A rounding error in the logits
/// changes the winner only if two arrive at almost the same time, some 1e-6 of all draws. (With one
/// number and the cumulative distribution, it would be that often for every candidate.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "fused/blocks/exponential.h"

namespace openmanus::generation {

using namespace openmanus::fused;

/// In place of an id: a row that cannot be drawn from must not spoil the others.
constexpr int64_t not_finite = -1;       // a NaN or an infinity among the model's logits
constexpr int64_t nothing_allowed = -2;  // biases and lists leave nothing, or an infinity

struct Drawn {
  int64_t id;
  double logprob;          // under the model: softmax of the logits as they are
  double sampled_logprob;  // under the distribution that was drawn from
};

/// Every bit of x decides about every bit of the result (a number or a vector of them).
template <typename Bits>
inline Bits mix(Bits x) {
  x = (x ^ (x >> 16)) * 0x21f0aaadu;
  x = (x ^ (x >> 15)) * 0xd35a2d97u;
  return x ^ (x >> 15);
}

/// 32 random bits for a candidate of a row.
template <typename Bits>
inline Bits hash(uint64_t seed, Bits id) {
  return mix(mix(id * 0x9e3779b9u + uint32_t(seed)) ^ uint32_t(seed >> 32));
}

/// A number in (0, 1) from the hash: 31 of its bits, the only ones that a float keeps when small.
inline double unit(uint32_t hash) { return (double(hash >> 1) + 0.5) * 0x1p-31; }

/// The race so far.
struct Race {
  uint64_t seed;
  double best;  // the likeliest candidate's logit: rates are relative to it
  int64_t winner = -1;
  double winning_logit = 0;
  double earliest = std::numeric_limits<double>::infinity();

  /// A candidate with its logit, after temperature. Of two that arrive together, the lower id wins.
  void enter(int64_t id, double logit) {
    const double time = -std::log1p(-unit(hash(seed, uint32_t(id)))) / std::exp(logit - best);
    if (time > earliest || (time == earliest && id > winner)) return;
    earliest = time;
    winner = id;
    winning_logit = logit;
  }
};

/// The highest logit.
inline float highest(const float* logits, int64_t count) {
  Vector<float> top = broadcast(-std::numeric_limits<float>::infinity());
  int64_t at = 0;
  for (; at + lanes<float> <= count; at += lanes<float>)
    top = maximum<float>(top, load(logits + at));
  float most = top[0];
  for (int lane = 1; lane < lanes<float>; ++lane) most = std::max(most, float(top[lane]));
  for (; at < count; ++at) most = std::max(most, logits[at]);
  return most;
}

/// Calls body(first id, e^(factor * (logit - maximum))) for each vector of logits (zero beyond the
/// last), and gives the sum of all.
template <typename Body>
inline double sum_exponentials(
    const float* logits, int64_t count, float maximum, double factor, const Body& body) {
  const auto scale = float(factor * log2_of_e);
  double total = 0;
  // Floats add up well for so many vectors; then the double takes over.
  constexpr int64_t block = 64 * lanes<float>;
  for (int64_t first = 0; first < count; first += block) {
    Vector<float> sum = {};
    const int64_t end = std::min(count, first + block);
    for (int64_t at = first; at < end; at += lanes<float>) {
      Vector<float> values;
      if (at + lanes<float> <= count) {
        values = load(logits + at);
      } else {
        float part[lanes<float>];
        for (int lane = 0; lane < lanes<float>; ++lane)
          part[lane] =
              at + lane < count ? logits[at + lane] : -std::numeric_limits<float>::infinity();
        values = load(part);
      }
      const Vector<float> power = fused::exp2((values - maximum) * scale);
      sum += power;
      body(at, power);
    }
    total += horizontal_sum<float>(sum);
  }
  return total;
}

/// log of the sum of e^logit; not finite if a logit is NaN or infinite.
inline double model_log_sum(const float* logits, int64_t count, float maximum) {
  return maximum +
         std::log(sum_exponentials(logits, count, maximum, 1, [](int64_t, Vector<float>) {}));
}

/// Draws from the whole vocabulary at a temperature above 0: one or two passes of vectors.
inline Drawn draw_plain(
    const float* logits, int64_t vocabulary, uint64_t seed, double temperature, float maximum) {
  const auto candidate = [&](int64_t id) { return double(logits[id]) / temperature; };
  Race race{seed, double(maximum) / temperature};
  // The likeliest first: few of the others can be as early.
  const int64_t likeliest = std::find(logits, logits + vocabulary, maximum) - logits;
  if (likeliest == vocabulary) return {not_finite, 0, 0};  // all are NaN
  race.enter(likeliest, candidate(likeliest));
  typedef uint32_t Bits __attribute__((vector_size(vector_bytes)));
  Bits ids;
  for (int lane = 0; lane < lanes<float>; ++lane) ids[lane] = uint32_t(lane);
  const double total = sum_exponentials(
      logits, vocabulary, maximum, 1 / temperature, [&](int64_t at, Vector<float> rate) {
        const Bits bits = hash<Bits>(seed, ids + uint32_t(at)) >> 1;
        const Vector<float> share =
            __builtin_convertvector(reinterpret_cast<const Mask<float>&>(bits), Vector<float>);
        // A time is at least its unit / rate; the factor is for what the floats are rounded.
        const auto limit = float(race.earliest * 0x1p31 * 1.00001);
        const Mask<float> early = share < rate * limit;
        bool any = false;
        for (int lane = 0; lane < lanes<float>; ++lane) any |= early[lane] != 0;
        if (!any) return;
        for (int lane = 0; lane < lanes<float> && at + lane < vocabulary; ++lane)
          if (early[lane]) race.enter(at + lane, candidate(at + lane));
      });
  const double base =
      temperature == 1 ? maximum + std::log(total) : model_log_sum(logits, vocabulary, maximum);
  if (!std::isfinite(base)) return {not_finite, 0, 0};
  return {
      race.winner, double(logits[race.winner]) - base,
      race.winning_logit - (race.best + std::log(total))};
}

/// The likeliest of the whole vocabulary.
inline Drawn draw_greedy(const float* logits, int64_t vocabulary, float maximum) {
  const double base = model_log_sum(logits, vocabulary, maximum);
  if (!std::isfinite(base)) return {not_finite, 0, 0};  // also if all are NaN
  const int64_t id = std::find(logits, logits + vocabulary, maximum) - logits;
  return {id, double(logits[id]) - base, 0.0};
}

}  // namespace openmanus::generation
