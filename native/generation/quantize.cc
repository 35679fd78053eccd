/// @file openmanus::quantize_rows: a float matrix in the int8 form of short_weights.h.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <cmath>
#include <limits>

#include "short_weights.h"

namespace openmanus::generation {
namespace {

using at::Tensor;

constexpr float most = 127;

/// One group of a row: its largest weight becomes ±127, the others what is nearest.
void quantize_group(const float* from, int64_t count, float* scale, int8_t* to) {
  float largest = 0;
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(from[i]));
    finite &= bool(std::isfinite(from[i]));
  }
  // Weights that are no numbers must not become some: they stay none.
  *scale = finite ? largest / most : std::numeric_limits<float>::quiet_NaN();
  const float inverse = finite && largest > 0 ? most / largest : 0;
  for (int64_t i = 0; i < count; ++i)
    to[i] = finite ? int8_t(std::nearbyint(from[i] * inverse)) : int8_t(0);
}

/// [rows, columns] in float32 to [rows, bytes_of_row(columns)] in int8.
Tensor quantize_rows(const Tensor& weight) {
  TORCH_CHECK(
      weight.dim() == 2 && weight.scalar_type() == at::kFloat && weight.is_contiguous() &&
          weight.device().is_cpu(),
      "quantize_rows: expected a contiguous float32 matrix on the CPU, got ", weight.scalar_type(),
      " ", weight.sizes(), " on ", weight.device());
  const int64_t rows = weight.size(0), columns = weight.size(1);
  const int64_t bytes = bytes_of_row(columns), scales = scales_of_row(columns);
  Tensor result = at::empty({rows, bytes}, at::kChar);
  const float* from = weight.data_ptr<float>();
  int8_t* to = result.data_ptr<int8_t>();
  at::parallel_for(0, rows, 64, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t group = 0; group < scales; ++group) {
        const int64_t column = group * scale_columns;
        float scale;
        quantize_group(
            from + row * columns + column, std::min(scale_columns, columns - column), &scale,
            to + row * bytes + scales * int64_t(sizeof(float)) + column);
        std::memcpy(to + row * bytes + group * int64_t(sizeof(float)), &scale, sizeof(float));
      }
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(openmanus, library) {
  library.def("quantize_rows(Tensor weight) -> Tensor");
}
TORCH_LIBRARY_IMPL(openmanus, CPU, library) { library.impl("quantize_rows", quantize_rows); }

}  // namespace openmanus::generation
