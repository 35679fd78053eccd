/**
 * @file What is wrong with how a server or a key was asked for; its message is a sentence for the user.
 */
export class NetworkError extends Error {
  override name = "NetworkError";
}
