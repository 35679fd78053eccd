/**
 * @file Packed tokens as tensors: what stands between a batch's flat arrays and the losses.
 *
 * Every input of a loss comes through `maskedInput`: 0 under mask 0, checked elsewhere. The zeros are
 * put in by `where`, not by multiplication, so that neither a value nor a gradient of a token that
 * is not trained can be NaN, whatever the model says there.
 */
import { type Dtype, fromTypedArray, type Tensor, tidy, where, zeros } from "../../torch/index.ts";
import { checkLength, NonFiniteError, type Numbers, type Rows, rowCount, rowOf } from "../rows.ts";

/** [tokens] A tensor, or an array that becomes one. */
export type TokenValues = Tensor | Numbers;

/** [tokens] true where the mask is 1. */
export function maskTensor(rows: Rows, like: Tensor): Tensor {
  return fromTypedArray(rows.mask, undefined, { dtype: "bool", device: like.device });
}

/** Half precision is for matrix products; losses are computed in float32 at least. */
function lossDtype(dtype: Dtype): Dtype {
  return dtype === "float64" ? "float64" : "float32";
}

/**
 * [tokens] Values ready for a loss: in the dtype and on the device of `like`, 0 under mask 0. A
 * value under mask 1 that is not finite is an error that says where it stands.
 */
export function maskedInput(
  who: string,
  name: string,
  values: TokenValues,
  rows: Rows,
  like?: Tensor,
): Tensor {
  if (ArrayBuffer.isView(values)) {
    if (like === undefined) throw new TypeError(`${who}: ${name} must be a tensor`);
    const tensor = fromTypedArray(values, undefined, { dtype: like.dtype, device: like.device });
    return maskedInput(who, name, tensor, rows, like);
  }
  if (values.ndim !== 1)
    throw new RangeError(`${who}: ${name} has the shape [${values.shape}], expected [tokens]`);
  checkLength(who, name, values.numel, rows.mask.length);
  const mask = maskTensor(rows, values);
  const masked = where(mask, values.to(like?.dtype ?? lossDtype(values.dtype)), 0);
  requireFinite(`${who}: ${name}`, masked, rows);
  return masked;
}

function requireFinite(what: string, values: Tensor, { offsets }: Rows): void {
  const place = tidy(() => {
    const finite = values.detach().isfinite();
    if (finite.all().item() === 1) return -1;
    return finite.toNumbers().indexOf(0);
  });
  if (place < 0) return;
  const value = values.detach().toNumbers()[place]!;
  const row = rowOf(offsets, place);
  throw new NonFiniteError(what, value, row, place - offsets[row]!);
}

/** Sums per row and back again, with gradients. */
export interface RowOperations {
  /** [rows] Trained tokens of each row, at least 1 so that it can be divided by. */
  lengths: Tensor;
  /** [tokens] to [rows]; the values under mask 0 must be 0. */
  sum(values: Tensor): Tensor;
  /** [tokens] to [rows]: the mean over the trained tokens. */
  mean(values: Tensor): Tensor;
  /** [rows] to [tokens] */
  spread(values: Tensor): Tensor;
}

export function rowOperations(rows: Rows, like: Tensor): RowOperations {
  const { offsets, mask } = rows;
  const count = rowCount(rows);
  const rowOfToken = new Int32Array(mask.length);
  const lengths = new Float64Array(count);
  for (let row = 0; row < count; row++) {
    rowOfToken.fill(row, offsets[row]!, offsets[row + 1]!);
    for (let token = offsets[row]!; token < offsets[row + 1]!; token++)
      lengths[row]! += mask[token]!;
  }
  const options = { dtype: like.dtype, device: like.device };
  const index = fromTypedArray(rowOfToken, undefined, { dtype: "int64", device: like.device });
  const divisors = fromTypedArray(lengths, undefined, options).clamp(1);
  const sum = (values: Tensor) => zeros([count], options).indexAdd(0, index, values);
  return {
    lengths: divisors,
    sum,
    mean: (values) => sum(values).div(divisors),
    spread: (values) => values.indexSelect(0, index),
  };
}
