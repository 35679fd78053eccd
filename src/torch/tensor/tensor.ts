/**
 * @file Tensor: the last link of the chain of classes, and the one that users see.
 */
import { type BackwardOptions, backward } from "../autograd.ts";
import { recogniseTensorsBy } from "../lifetime.ts";
import { constructTensorsWith } from "./core.ts";
import { InPlaceTensor } from "./inplace.ts";

export class Tensor extends InPlaceTensor {
  /** Adds the gradients of this tensor to `grad` of every leaf it depends on. */
  backward(options: BackwardOptions = {}): void {
    backward(this, options);
  }
}

constructTensorsWith(Tensor);
recogniseTensorsBy((value): value is Tensor => value instanceof Tensor);
