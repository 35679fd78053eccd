/**
 * @file Operators that libtorch itself crashes in when their arguments have the right types but odd
 * values, with the reason. Nothing on our side of the door could prevent it.
 */
const OVERFLOW = "the smallest integer divided by −1 is a SIGFPE on x86";
const SANITIZER =
  "2⁶¹ pieces are asked of operator new, which throws; AddressSanitizer's ends the process instead";

export const CRASHES_IN_LIBTORCH: ReadonlyMap<string, string> = new Map([
  ["aten::remainder.Tensor", OVERFLOW],
  ["aten::remainder.Scalar", OVERFLOW],
  ["aten::div.Tensor_mode", OVERFLOW],
  ["aten::div.Scalar_mode", OVERFLOW],
  // Only there: without it, the operator throws and we say so.
  ...(process.env.ASAN_OPTIONS === undefined ? [] : [["aten::chunk", SANITIZER] as const]),
]);
