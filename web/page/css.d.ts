/** Styles are bundled by the build, and have nothing to say to the code. */
declare module "*.css";
