/// @file The pass of decoder_step: the phases that a team of threads goes through together.
///
///   x ← x + o(attention(rotary(norm(q, k)), v))      of norm(x)
///   x ← x + down(silu(gate) · up)                    of norm(x)
///
/// Where a family normalises what o and down give, they leave it in `normed`, and the phase that
/// normalises x for the next part adds it first.
/// In the last layer, tokens whose logits nobody wants only leave their keys and values.
#include "decoder_rows.h"
#include "phases.h"
#include "transpose.h"

namespace openmanus::generation {
namespace {

/// Where a token of the pass is.
struct Place {
  int32_t position, page;
};

template <int vectors>
class Pass {
 public:
  static constexpr int64_t width = vectors * lanes<float>;

  Pass(const Decoder& decoder, const StepTokens& step, float* logits)
      : decoder_(decoder),
        step_(step),
        logits_(logits),
        all_(decoder, step.batch, step.tokens, width),
        last_batch_(last_batch()),
        some_left_(!all_wanted(step)),
        last_(decoder, last_batch_, some_left_ ? step.wanted_count : 0, width) {
    for (int64_t s = 0; s < step.batch.sequences; ++s)
      for (int64_t i = 0; i < step.batch.new_tokens(s); ++i) {
        const int64_t position = step.batch.first_position(s) + i;
        places_.push_back({int32_t(position), int32_t(step.batch.page_of(s, position))});
      }
  }

  void run() {
    // Nine of each layer, three more where the last one narrows, one before and two after them.
    Phases phases(9 * int64_t(decoder_.layers.size()) + 6);
    phases.run([&](Phases::Member& member) {
      // One for all layers of this thread: it is too large to be had for nothing.
      const AttentionScratch scratch(step_.batch);
      member.run(all_.x.strips, [&](int64_t strip) { embed(strip); });
      for (size_t i = 0; i < decoder_.layers.size(); ++i) {
        const DecoderLayer& layer = decoder_.layers[i];
        const bool narrows = some_left_ && i + 1 == decoder_.layers.size();
        const int64_t skipped = narrows ? decoder_.query_features() : 0;
        normalize_all(
            member, all_, layer.input_norm,
            i > 0 ? decoder_.layers[i - 1].after_feed_forward : nullptr);
        project(member, all_, layer.qkv, skipped, decoder_.qkv_features());
        member.run(all_.x.strips, [&](int64_t strip) {
          if (!narrows) turn(all_, strip, 0, decoder_.heads, layer.q_norm, layer.rope);
          turn(all_, strip, decoder_.heads, decoder_.kv_heads, layer.k_norm, layer.rope);
          part(all_, strip, skipped, decoder_.qkv_features());
          keep(layer.cache, strip);
        });
        if (!narrows) {
          finish_layer(member, all_, layer, scratch);
        } else if (step_.wanted_count > 0) {
          member.run(step_.wanted_count, [&](int64_t token) { gather(token); });
          project(member, last_, layer.qkv, 0, decoder_.query_features());
          member.run(last_.x.strips, [&](int64_t strip) {
            turn(last_, strip, 0, decoder_.heads, layer.q_norm, layer.rope);
            part(last_, strip, 0, decoder_.query_features());
          });
          finish_layer(member, last_, layer, scratch);
        }
      }
      if (step_.wanted_count > 0) finish(member, some_left_ ? last_ : all_);
    });
  }

 private:
  /// Whether every token is wanted, in order: a decoding step.
  static bool all_wanted(const StepTokens& step) {
    for (int64_t i = 0; i < step.wanted_count; ++i)
      if (step.wanted[i] != i) return false;
    return step.wanted_count == step.tokens;
  }

  /// The tokens that are wanted, each as a sequence of a batch of their own.
  Batch last_batch() {
    Batch batch = step_.batch;
    batch.sequences = step_.wanted_count;
    for (int64_t i = 0; i <= step_.wanted_count; ++i) last_offsets_.push_back(int32_t(i));
    for (int64_t i = 0; i < step_.wanted_count; ++i) {
      const int32_t token = step_.wanted[i];
      const int32_t* offsets = step_.batch.query_offsets;
      const int64_t s =
          std::upper_bound(offsets, offsets + step_.batch.sequences + 1, token) - offsets - 1;
      last_lengths_.push_back(int32_t(step_.batch.first_position(s)) + token - offsets[s] + 1);
      last_pages_.push_back(step_.batch.page_offsets[s]);
    }
    batch.query_offsets = last_offsets_.data();
    batch.lengths = last_lengths_.data();
    batch.page_offsets = last_pages_.data();
    return batch;
  }

  void embed(int64_t strip) {
    const int64_t hidden = decoder_.hidden, half = decoder_.head_dim / 2;
    const int64_t end = std::min(step_.tokens, (strip + 1) * width);
    const auto scatter = [](const float* from, int64_t count, float* to, float factor = 1) {
      for (int64_t i = 0; i < count; ++i) to[i * width] = from[i] * factor;
    };
    std::vector<float> embedding(size_t(hidden), 0);
    for (int64_t token = strip * width; token < end; ++token) {
      copy_weights(decoder_.embedding, step_.ids[token], 0, hidden, embedding.data());
      scatter(embedding.data(), hidden, all_.x.at(token, 0), decoder_.embedding_scale);
      for (int64_t rope = 0; rope < decoder_.ropes; ++rope) {
        const int64_t row = rope * decoder_.positions + places_[size_t(token)].position;
        scatter(decoder_.cos + row * half, half, all_.cos.at(token, rope * half));
        scatter(decoder_.sin + row * half, half, all_.sin.at(token, rope * half));
      }
    }
  }

  /// normed ← norm(x), after x ← x + norm(normed) by the weight `pending`, if there is one.
  void normalize_all(
      Phases::Member& member, Rows& rows, const float* weight, const float* pending) {
    member.run(rows.x.strips, [&](int64_t strip) {
      if (pending) {
        float* added = rows.normed.row(strip, 0);
        normalize<vectors>(added, pending, decoder_.hidden, decoder_.eps, added);
        add_to<vectors>(rows.x.row(strip, 0), added, decoder_.hidden);
      }
      normalize<vectors>(
          rows.x.row(strip, 0), weight, decoder_.hidden, decoder_.eps, rows.normed.row(strip, 0));
    });
  }

  /// Features [begin, end) of the weight's product with the normalised x.
  void project(
      Phases::Member& member, Rows& rows, const Weight& weight, int64_t begin, int64_t end) {
    const Grid grid(end - begin, rows.x.strips, weight.columns, width);
    member.run(grid.items(), [&](int64_t item) {
      grid.take(item, [&](int64_t row, int64_t count, int64_t first, int64_t last) {
        multiply<vectors>(
            weight, begin + row, count, rows.normed, first, last, rows.qkv, begin + row, false,
            grid.after(item, weight, begin));
      });
    });
  }

  void turn(
      Rows& rows, int64_t strip, int64_t first, int64_t heads, const float* norm, int64_t rope) {
    const int64_t size = decoder_.head_dim, half = size / 2;
    for (int64_t head = first; head < first + heads; ++head) {
      float* features = rows.qkv.row(strip, head * size);
      if (norm) normalize<vectors>(features, norm, size, decoder_.eps, features);
      if (rope < 0) continue;
      rotate<vectors>(
          features, rows.cos.row(strip, rope * half), rows.sin.row(strip, rope * half), half);
    }
  }

  /// Tokens of a strip: the last may not be full.
  static int64_t tokens_of(const Rows& rows, int64_t strip) {
    return std::min(width, rows.by_token.strips - strip * width);
  }

  /// Features [begin, end) of a strip's tokens, one token after the other.
  void part(Rows& rows, int64_t strip, int64_t begin, int64_t end) {
    copy_transposed(
        rows.qkv.row(strip, begin), width, end - begin, tokens_of(rows, strip),
        rows.by_token.at(strip * width, begin), rows.by_token.features);
  }

  /// What attention found for the tokens of a strip, back in their lanes.
  void join(Rows& rows, int64_t strip) {
    copy_transposed(
        rows.by_token.at(strip * width, 0), rows.by_token.features, tokens_of(rows, strip),
        rows.seen.features, rows.seen.row(strip, 0), width);
  }

  /// A strip's keys and values into their pages.
  void keep(const Layer& cache, int64_t strip) {
    const Batch& batch = step_.batch;
    const int64_t end = std::min(step_.tokens, (strip + 1) * width);
    for (int64_t token = strip * width; token < end; ++token) {
      const Place place = places_[size_t(token)];
      const int64_t slot = place.position % batch.page_size;
      for (int64_t head = 0; head < batch.kv_heads; ++head) {
        float* keys = cache.keys + batch.keys_at(place.page, head) + slot;
        float* values = cache.values + batch.values_at(place.page, head) + slot * batch.value_width;
        const int64_t feature = (batch.heads + head) * batch.head_dim;
        const float* key = all_.by_token.at(token, feature);
        for (int64_t i = 0; i < batch.head_dim; ++i) keys[i * batch.page_size] = key[i];
        std::copy_n(key + decoder_.key_features(), batch.head_dim, values);
      }
    }
  }

  /// Attention, o, and the feed-forward part.
  void finish_layer(
      Phases::Member& member, Rows& rows, const DecoderLayer& layer,
      const AttentionScratch& scratch) {
    const int64_t size = decoder_.head_dim;
    member.run(int64_t(rows.items.size()), [&](int64_t item) {
      attend(
          rows.batch, rows.items[size_t(item)], layer.cache, scratch,
          [&](int64_t token, int64_t head, float* to) {
            std::copy_n(rows.by_token.at(token, head * size), size, to);
          },
          [&](int64_t token, int64_t head, const float* from) {
            std::copy_n(from, size, rows.by_token.at(token, head * size));
          });
    });
    member.run(rows.x.strips, [&](int64_t strip) { join(rows, strip); });
    add_to_x(member, rows, layer.o, rows.seen, layer.after_attention);
    normalize_all(member, rows, layer.before_feed_forward, layer.after_attention);
    const Grid grid(decoder_.intermediate, rows.x.strips, decoder_.hidden, width);
    member.run(grid.items(), [&](int64_t item) {
      grid.take(item, [&](int64_t row, int64_t count, int64_t first, int64_t last) {
        multiply<vectors>(
            layer.gate_up, row, count, rows.normed, first, last, rows.gated, row, false,
            rows_ahead(layer.gate_up, decoder_.intermediate + row, count));
        multiply<vectors>(
            layer.gate_up, decoder_.intermediate + row, count, rows.normed, first, last, rows.up,
            row, false, grid.after(item, layer.gate_up, 0));
        for (int64_t strip = first; strip < last; ++strip)
          gate_by<vectors>(
              rows.gated.row(strip, row), rows.up.row(strip, row), count, decoder_.gelu);
      });
    });
    add_to_x(member, rows, layer.down, rows.gated, layer.after_feed_forward);
  }

  /// A product added to x; or left in `normed` if it is to be normalised first.
  void add_to_x(
      Phases::Member& member, Rows& rows, const Weight& weight, const TokenStrips& in,
      const float* norm) {
    const Grid grid(weight.rows, rows.x.strips, weight.columns, width);
    member.run(grid.items(), [&](int64_t item) {
      grid.take(item, [&](int64_t row, int64_t count, int64_t first, int64_t last) {
        multiply<vectors>(
            weight, row, count, in, first, last, norm ? rows.normed : rows.x, row, !norm,
            grid.after(item, weight, 0));
      });
    });
  }

  /// Copies what a wanted token has before the last layer to the rows of its own.
  void gather(int64_t token) {
    const int64_t from = step_.wanted[token];
    const auto copy = [&](const TokenStrips& source, const TokenStrips& to) {
      const float* own = source.at(from, 0);
      float* place = to.at(token, 0);
      for (int64_t i = 0; i < source.features; ++i) place[i * width] = own[i * width];
    };
    copy(all_.x, last_.x);
    copy(all_.normed, last_.normed);
    copy(all_.cos, last_.cos);
    copy(all_.sin, last_.sin);
  }

  void finish(Phases::Member& member, Rows& rows) {
    normalize_all(member, rows, decoder_.norm, decoder_.layers.back().after_feed_forward);
    const int64_t vocabulary = decoder_.output.rows;
    const Grid grid(vocabulary, rows.x.strips, decoder_.hidden, width);
    Scratch<float> tile(grid.group * grid.chunk * width);
    member.run(grid.items(), [&](int64_t item) {
      grid.take(item, [&](int64_t row, int64_t count, int64_t first, int64_t last) {
        multiply<vectors>(
            decoder_.output, row, count, rows.normed, first, last, tile.get(), count * width, false,
            grid.after(item, decoder_.output, 0));
        for (int64_t strip = first; strip < last; ++strip)
          copy_transposed(
              tile + (strip - first) * count * width, width, count, tokens_of(rows, strip),
              logits_ + strip * width * vocabulary + row, vocabulary);
      });
    });
  }

  const Decoder& decoder_;
  const StepTokens& step_;
  float* logits_;
  Rows all_;
  std::vector<int32_t> last_offsets_, last_lengths_, last_pages_;
  Batch last_batch_;
  bool some_left_;
  Rows last_;
  std::vector<Place> places_;
};

template <int vectors>
void run_pass(const Decoder& decoder, const StepTokens& step, float* logits) {
  Pass<vectors>(decoder, step, logits).run();
}

}  // namespace

void run_decoder(const Decoder& decoder, const StepTokens& step, float* logits) {
  if (step.tokens == 0) return;
  // The widest strips that do not leave many lanes empty. One vector takes as long as one and a half:
  // its products load more for each multiplication.
  int64_t best = 1, least = std::numeric_limits<int64_t>::max();
  for (int64_t vectors = 1; vectors <= block_vectors; ++vectors) {
    const int64_t width = vectors * lanes<float>;
    const int64_t padded = (step.tokens + width - 1) / width * width;
    const int64_t cost = padded * (vectors == 1 ? 3 : 2);
    if (cost <= least) best = vectors, least = cost;
  }
  switch (best) {
    case 3:
      if constexpr (block_vectors >= 3) return run_pass<3>(decoder, step, logits);
    case 2:
      return run_pass<2>(decoder, step, logits);
    default:
      return run_pass<1>(decoder, step, logits);
  }
}

}  // namespace openmanus::generation
