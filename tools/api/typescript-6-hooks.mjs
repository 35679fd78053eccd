/**
 * @file The hook itself: "typescript", asked for by typedoc, is "typescript-6".
 */

/** Node's form of a resolve hook. */
export function resolve(specifier, context, next) {
  const isTypedoc = context.parentURL?.includes("/node_modules/typedoc/");
  return next(isTypedoc && specifier === "typescript" ? "typescript-6" : specifier, context);
}
