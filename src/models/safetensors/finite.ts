/**
 * @file The check for weights that are not numbers.
 */
import { noGrad, type Tensor, tidy } from "../../torch/index.ts";
import { ModelFileError } from "../checkpoint/errors.ts";

/** Elements looked at together: the masks of a portion stay small. */
const PORTION = 4 * 1024 * 1024;

/** Throws an error that names the tensor and the place if a value is NaN or infinite. */
export function requireFinite(tensor: Tensor, name: string, file: string): void {
  if (!["float32", "float64", "bfloat16", "float16"].includes(tensor.dtype)) return;
  tidy(() =>
    noGrad(() => {
      const flat = tensor.detach().reshape([-1]);
      const length = flat.numel;
      for (let start = 0; start < length; start += PORTION) {
        const portion = flat.narrow(0, start, Math.min(PORTION, length - start));
        tidy(() => {
          const finite = portion.isfinite();
          if (finite.all().item() === 1) return;
          const place = finite.logicalNot().nonzero().toNumbers();
          const value = portion.narrow(0, place[0]!, 1).item();
          throw new ModelFileError(
            file,
            `tensor ${JSON.stringify(name)} has ${place.length} or more values that are not finite; ` +
              `the first is ${value} at element ${start + place[0]!} of shape [${tensor.shape}]`,
          );
        });
      }
    }),
  );
}
