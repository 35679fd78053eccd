/// @file linear.h's kernels: a block of rows after the other.
#include "linear.h"

#include "row_blocks.h"

namespace openmanus::fused {
namespace {

/// Columns whose sums are made before they are written: they and the rows stay in L2.
constexpr int64_t most_columns = 128;

/// Rows of x (begin, and so many) through strips, finish(i, column, sums, columns) with the sums of some
/// columns of one row after the other.
template <typename T, typename Finish>
void multiply_block(
    const Matrix& x, int64_t begin, int64_t rows, const Strips<T>& right, int64_t columns, T* sums,
    const Finish& finish) {
  const int64_t block = even_block(columns, most_columns, block_lanes<T>);
  const int64_t row = padded_row<T>(block);
  const T* from = static_cast<const T*>(x.data) + begin * x.stride;
  for (int64_t column = 0; column < columns; column += block) {
    const int64_t taken = std::min(block, columns - column);
    multiply_strips<T>(
        rows, {from, x.stride, 1}, right, column / block_lanes<T>, blocks_of(taken, block_lanes<T>),
        0, x.columns, sums, row, false);
    for (int64_t i = 0; i < rows; ++i) finish(begin + i, column, sums + i * row, taken);
  }
}

/// Memory for the sums of multiply_block.
template <typename T>
int64_t sums_size(const RowBlocks& blocks, int64_t columns) {
  return blocks.block * padded_row<T>(even_block(columns, most_columns, block_lanes<T>));
}

template <typename T>
T* row_of(const Matrix& matrix, int64_t row, int64_t column) {
  return static_cast<T*>(matrix.data) + row * matrix.stride + column;
}

} // namespace

template <typename T>
void linear_forward(
    const Matrix& x, const Matrix& weight, const T* bias, const Matrix* residual, const Matrix& y) {
  const RowBlocks blocks(x.rows);
  const Strips<T> strips(weight.columns, weight.rows);
  pack_rows(weight, strips);
  share_items(blocks.count(), [&](auto next) {
    Scratch<T> sums(sums_size<T>(blocks, y.columns));
    for (int64_t block; (block = next()) >= 0;) {
      const int64_t begin = blocks.begin_of(block), rows = blocks.rows_of(block);
      multiply_block<T>(
          x, begin, rows, strips, y.columns, sums,
          [&](int64_t row, int64_t column, const T* sum, int64_t columns) {
            const T* more = residual ? row_of<T>(*residual, row, column) : nullptr;
            for_each_vector<T>(columns, [&](int64_t, auto read, auto write) {
              Vector<T> value = read(sum);
              if (bias) value += read(bias + column);
              write(row_of<T>(y, row, column), more ? read(more) + value : value);
            });
          });
    }
  });
}

template <typename T>
void linear_backward(
    const Matrix& x, const Matrix& weight, const Matrix& dy, const Matrix* dx,
    const Matrix* dweight) {
  const RowBlocks blocks(x.rows);
  const Strips<T> strips(dx ? weight.rows : 0, dx ? weight.columns : 0);
  if (dx) pack_columns(weight, strips);
  const PartSums<T> gradient(blocks.parts, dweight ? weight.rows : 0, x.columns);
  const int64_t x_strips = gradient.strips, x_row = padded_row<T>(x_strips * block_lanes<T>);
  share_items(blocks.parts, [&](auto next) {
    Scratch<T> sums(sums_size<T>(blocks, x.columns)), right(dweight ? blocks.block * x_row : 0);
    const Panels<T> left(blocks.block, dweight ? weight.rows : 0);
    for (int64_t part; (part = next()) >= 0;)
      for (int64_t i = 0; i < blocks.part_blocks; ++i) {
        const int64_t block = part * blocks.part_blocks + i;
        const int64_t begin = blocks.begin_of(block), rows = blocks.rows_of(block);
        if (dx)
          multiply_block<T>(
              dy, begin, rows, strips, x.columns, sums,
              [&](int64_t row, int64_t column, const T* sum, int64_t columns) {
                std::copy_n(sum, columns, row_of<T>(*dx, row, column));
              });
        if (!dweight) continue;
        left.read_from(row_of<T>(dy, begin, 0), dy.stride, rows);
        read_block<T>(x, begin, rows, 0, x_strips * block_lanes<T>, right, x_row);
        for (int64_t strip = 0; strip < x_strips; ++strip)
          left.multiply(
              rows, right + strip * block_lanes<T>, x_row, gradient.at(part, strip), i > 0);
      }
  });
  if (!dweight) return;
  share_items(x_strips, [&](auto next) {
    for (int64_t strip; (strip = next()) >= 0;) {
      const T* sum = gradient.total(strip);
      const int64_t column = strip * block_lanes<T>;
      const int64_t columns = std::min<int64_t>(block_lanes<T>, x.columns - column);
      for (int64_t row = 0; row < weight.rows; ++row)
        std::copy_n(sum + row * block_lanes<T>, columns, row_of<T>(*dweight, row, column));
    }
  });
}

template void linear_forward<float>(
    const Matrix&, const Matrix&, const float*, const Matrix*, const Matrix&);
template void linear_forward<double>(
    const Matrix&, const Matrix&, const double*, const Matrix*, const Matrix&);
template void linear_backward<float>(
    const Matrix&, const Matrix&, const Matrix&, const Matrix*, const Matrix*);
template void linear_backward<double>(
    const Matrix&, const Matrix&, const Matrix&, const Matrix*, const Matrix*);

} // namespace openmanus::fused
