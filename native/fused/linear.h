/// @file Products with weights that are small enough for a block of rows to go through whole: the kernels
/// of openmanus::linear for them. linear.cc has the operator.
#pragma once

#include "packed_matrix.h"

namespace openmanus::fused {

/// y = x Wᵀ + bias + residual; these two may be null.
template <typename T>
void linear_forward(
    const Matrix& x, const Matrix& weight, const T* bias, const Matrix* residual, const Matrix& y);

/// dx = dy W and dweight = dyᵀ x: those that are not null.
template <typename T>
void linear_backward(
    const Matrix& x, const Matrix& weight, const Matrix& dy, const Matrix* dx, const Matrix* dweight);

} // namespace openmanus::fused
