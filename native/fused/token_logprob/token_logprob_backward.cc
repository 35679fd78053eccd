/// @file Token log-probability backward: logits, unless forward kept them, are computed again, a chunk
/// at a time.
///
/// With p the probabilities, g and e the gradients of log-probability and entropy H of a token:
///   dlogit = g * (1[word is target] - p) - e * p * (log p + H),
///   dhidden = dlogits W,   dW = dlogits^T hidden   (all divided by the temperature).
#include <optional>

#include "fused/blocks/exponential.h"
#include "fused/blocks/parallel.h"
#include "token_logprob.h"

namespace openmanus::fused {
namespace {

/// Blocks of tokens of one chunk, at most: its tiles are used again while the third cache has them.
constexpr int64_t most_token_blocks = 4;

/// Columns of dhidden or dweight that one item makes, and from row to row of their sums. As many as can
/// stay in L2 beside a tile, unless that left too few items for all threads.
template <typename T>
struct Columns {
  int64_t count, row;

  Columns(int64_t columns, int64_t blocks) {
    columns = std::max<int64_t>(1, columns);
    const int64_t wanted = blocks_of(4 * at::get_num_threads(), std::max<int64_t>(1, blocks));
    const int64_t least = blocks_of(columns, 256), most = blocks_of(columns, 64);
    count = blocks_of(columns, std::clamp(wanted, least, most));
    count = blocks_of(count, block_lanes<T>) * block_lanes<T>;
    row = padded_row<T>(count);
  }
};

/// One chunk: some words and some tokens, whose logits' gradients exist at the same time. They are
/// stored tile by tile, [vocab_block, tile_row] each, so that a tile is contiguous.
template <typename T>
struct Chunk {
  int64_t first_word, words, first_token, tokens;
  T* tiles;

  int64_t word_blocks() const { return blocks_of(words, vocab_block); }
  int64_t token_blocks() const { return blocks_of(tokens, token_block); }
  int64_t words_in(int64_t block) const {
    return std::min(vocab_block, words - block * vocab_block);
  }
  int64_t tokens_in(int64_t block) const {
    return std::min(token_block, tokens - block * token_block);
  }
  T* tile(int64_t word_block, int64_t token_block_) const {
    return tiles + (word_block * token_blocks() + token_block_) * vocab_block * tile_row<T>;
  }
};

/// Per token, what turns a logit z into its gradient: p * (constant + slope * (z - logsumexp)) with
/// p = 2^(z - logsumexp), plus `target` for the target word. Zero for tokens that fill up a strip.
template <typename T>
struct TokenFactors {
  Scratch<T> logsumexp, constant, slope, target;  // [tokens of a chunk]

  explicit TokenFactors(int64_t size)
      : logsumexp(size), constant(size), slope(size), target(size) {}
};

/// The gradients of one vector of tokens' logits, `words` rows; they may take the logits' place.
template <bool with_entropy, typename T>
void differentiate(
    const T* logits, T* gradients, int64_t words, const TokenFactors<T>& factors, int64_t token) {
  const Vector<T> logsumexp = load(factors.logsumexp + token);
  const Vector<T> constant = load(factors.constant + token), slope = load(factors.slope + token);
  for (int64_t word = 0; word < words; ++word) {
    const Vector<T> log_probability = load(logits + word * tile_row<T>) - logsumexp;
    const Vector<T> probability = fused::exp2(log_probability);
    store(
        gradients + word * tile_row<T>,
        with_entropy ? probability * (constant + slope * log_probability) : probability * constant);
  }
}

/// One block of rows and some columns of a gradient: the chunk's tiles times the other
/// factor, which lies in strips from the chunk's first row on. Written or added to `result`.
/// dweight: rows are words, summed over tokens. dhidden: rows are tokens, summed over words.
template <typename T>
void sum_tiles(
    const Chunk<T>& chunk, bool rows_are_words, int64_t block, const Columns<T>& taken,
    int64_t column, const Strips<T>& right, const Matrix& result, int64_t result_row, bool add,
    T* sums) {
  const int64_t columns = std::min(taken.count, result.columns - column);
  const int64_t rows = rows_are_words ? chunk.words_in(block) : chunk.tokens_in(block);
  const int64_t others = rows_are_words ? chunk.token_blocks() : chunk.word_blocks();
  for (int64_t other = 0; other < others; ++other) {
    const Left<T> left = rows_are_words ? Left<T>{chunk.tile(block, other), tile_row<T>, 1}
                                        : Left<T>{chunk.tile(other, block), 1, tile_row<T>};
    const int64_t depth = rows_are_words ? chunk.tokens_in(other) : chunk.words_in(other);
    const int64_t first = other * (rows_are_words ? token_block : vocab_block);
    for (int64_t lane = 0; lane < columns; lane += block_lanes<T>)
      strip_product<block_vectors, T>(
          rows, left, right.at((column + lane) / block_lanes<T>, first), block_lanes<T>,
          sums + lane, taken.row, depth, other > 0);
  }
  write_block<T>(sums, taken.row, result, result_row, rows, column, columns, add);
}

/// Where a gradient is summed: in the result itself if that is of the accumulating type, else in
/// memory of its own for some of the rows.
template <typename T>
struct Sums {
  const Matrix* result = nullptr;
  at::Tensor own;
  std::optional<Matrix> place;

  Sums(const Matrix* result, int64_t rows) : result(result) {
    constexpr at::ScalarType wide = sizeof(T) == 8 ? at::kDouble : at::kFloat;
    if (!result) return;
    // The last vector of the last row is loaded whole: there must be memory behind it.
    if (result->type != wide)
      own = at::empty({rows + lanes<T>, result->columns}, wide).narrow(0, 0, rows);
    place = own.defined() ? Matrix(own) : *result;
  }
  bool in_place() const { return !own.defined(); }

  /// Rounds the first `rows` rows to the result's rows from `row` on.
  void finish(int64_t row, int64_t rows, bool add) const {
    if (!result || in_place()) return;
    at::parallel_for(0, rows, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        write_block<T>(
            own.data_ptr<T>() + i * result->columns, 0, *result, row + i, 1, 0, result->columns,
            add);
    });
  }
};

}  // namespace

template <typename T>
void token_logprob_backward(
    const Matrix& hidden, const Matrix& weight, const int64_t* targets, T inverse_temperature,
    const T* logsumexp, const T* entropy, const T* dlogprob, const T* dentropy,
    const KeptTiles<T>& kept, const Matrix* dhidden, const Matrix* dweight) {
  const int64_t tokens = hidden.rows, vocab = weight.rows, depth = hidden.columns;
  const int64_t most_tokens = std::min(token_chunk_size(depth), most_token_blocks * token_block);
  const int64_t token_chunk = std::min(most_tokens, tokens);
  const int64_t vocab_chunk = std::min(4 * most_tokens, vocab);
  // Summing dhidden outside a short result takes memory for every token: at most 16 MB of it, in
  // several rounds over the vocabulary if need be.
  const bool short_hidden = dhidden && hidden.type != at::kFloat && hidden.type != at::kDouble;
  const int64_t round_chunks =
      std::max<int64_t>(1, (int64_t(4) << 20) / std::max<int64_t>(1, token_chunk * depth));
  const int64_t round_size = short_hidden ? std::min(tokens, round_chunks * token_chunk) : tokens;

  const int64_t chunk_blocks = blocks_of(token_chunk, token_block);
  const int64_t word_blocks = blocks_of(vocab_chunk, vocab_block);
  const Columns<T> taken(depth, chunk_blocks + word_blocks);
  const int64_t columns = blocks_of(depth, taken.count);
  Scratch<T> packed(kept ? 0 : chunk_blocks * token_block * depth);
  Scratch<T> tiles(chunk_blocks * word_blocks * vocab_block * tile_row<T>);
  TokenFactors<T> factors(chunk_blocks * token_block);
  const Strips<T> hidden_strips(token_chunk, dweight ? depth : 0);
  const Strips<T> weight_strips(vocab_chunk, dhidden ? depth : 0);
  const Sums<T> hidden_sums(dhidden, round_size), weight_sums(dweight, vocab_chunk);

  for (int64_t round = 0; round < tokens; round += round_size) {
    const int64_t round_end = std::min(tokens, round + round_size);
    for (int64_t first_word = 0; first_word < vocab; first_word += vocab_chunk) {
      const int64_t words = std::min(vocab_chunk, vocab - first_word);
      if (dhidden)
        at::parallel_for(0, words, 64, [&](int64_t begin, int64_t end) {
          weight_strips.read_from(weight, first_word + begin, end - begin, begin);
        });
      for (int64_t start = round; start < round_end; start += token_chunk) {
        const Chunk<T> chunk{
            first_word, words, start, std::min(token_chunk, round_end - start), tiles};
        const int64_t strips = blocks_of(chunk.tokens, block_lanes<T>);
        share_items(strips, [&](auto next) {
          for (int64_t strip; (strip = next()) >= 0;) {
            const int64_t first = strip * block_lanes<T>;
            const int64_t count = std::min<int64_t>(block_lanes<T>, chunk.tokens - first);
            if (!kept)
              pack_strip<T>(
                  hidden, start + first, count, inverse_temperature * T(log2_of_e),
                  packed + first * depth);
            if (dweight) hidden_strips.read_from(hidden, start + first, count, first);
            for (int64_t at = first; at < first + block_lanes<T>; ++at) {
              const bool real = at < chunk.tokens;
              const T g = real ? dlogprob[start + at] * inverse_temperature : T(0);
              const T e = real && dentropy ? dentropy[start + at] * inverse_temperature : T(0);
              factors.logsumexp[at] = real ? logsumexp[start + at] : T(0);
              factors.constant[at] = -g - (real && dentropy ? e * entropy[start + at] : T(0));
              factors.slope[at] = -e * T(log_of_2);
              factors.target[at] = g;
            }
          }
        });

        // The chunk's tiles of dlogits.
        share_items(chunk.word_blocks() * chunk.token_blocks(), [&](auto next) {
          Scratch<T> piece(vocab_block * depth_block<T>);
          for (int64_t item; (item = next()) >= 0;) {
            const int64_t word_block = item / chunk.token_blocks();
            const int64_t tokens_at = item % chunk.token_blocks();
            const int64_t first_token = tokens_at * token_block;
            const int64_t word = first_word + word_block * vocab_block;
            const int64_t tile_words = chunk.words_in(word_block);
            const int64_t tile_strips = blocks_of(chunk.tokens_in(tokens_at), block_lanes<T>);
            T* tile = chunk.tile(word_block, tokens_at);
            const T* logits = kept ? kept.at(word, start + first_token) : tile;
            if (!kept)
              logits_tile<T>(
                  weight, word, tile_words, packed + first_token * depth, tile_strips, piece, tile);
            for (int64_t lane = 0; lane < tile_strips * block_lanes<T>; lane += lanes<T>) {
              if (dentropy)
                differentiate<true, T>(
                    logits + lane, tile + lane, tile_words, factors, first_token + lane);
              else
                differentiate<false, T>(
                    logits + lane, tile + lane, tile_words, factors, first_token + lane);
            }
            for (int64_t i = 0; i < chunk.tokens_in(tokens_at); ++i) {
              const int64_t target = targets[start + first_token + i] - word;
              if (target >= 0 && target < tile_words)
                tile[target * tile_row<T> + i] += factors.target[first_token + i];
            }
          }
        });

        // What they contribute to dhidden's rows and to dweight's: the longer items first, so that
        // no thread is left with a long one.
        const int64_t hidden_items = dhidden ? chunk.token_blocks() * columns : 0;
        const int64_t weight_items = dweight ? chunk.word_blocks() * columns : 0;
        share_items(hidden_items + weight_items, [&](auto next) {
          Scratch<T> sums(std::max(vocab_block, token_block) * taken.row);
          for (int64_t item; (item = next()) >= 0;) {
            if (item < hidden_items) {
              const int64_t block = item % chunk.token_blocks();
              const int64_t column = item / chunk.token_blocks() * taken.count;
              sum_tiles<T>(
                  chunk, false, block, taken, column, weight_strips, *hidden_sums.place,
                  (hidden_sums.in_place() ? start : start - round) + block * token_block,
                  first_word > 0, sums);
            } else {
              const int64_t block = (item - hidden_items) % chunk.word_blocks();
              const int64_t column = (item - hidden_items) / chunk.word_blocks() * taken.count;
              sum_tiles<T>(
                  chunk, true, block, taken, column, hidden_strips, *weight_sums.place,
                  (weight_sums.in_place() ? first_word : 0) + block * vocab_block,
                  start > round || (weight_sums.in_place() && round > 0), sums);
            }
          }
        });
      }
      weight_sums.finish(first_word, words, round > 0);
    }
    hidden_sums.finish(round, round_end - round, false);
  }
}

template void token_logprob_backward<float>(
    const Matrix&, const Matrix&, const int64_t*, float, const float*, const float*, const float*,
    const float*, const KeptTiles<float>&, const Matrix*, const Matrix*);
template void token_logprob_backward<double>(
    const Matrix&, const Matrix&, const int64_t*, double, const double*, const double*,
    const double*, const double*, const KeptTiles<double>&, const Matrix*, const Matrix*);

}  // namespace openmanus::fused
