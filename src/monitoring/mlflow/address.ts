/**
 * @file Where the MLflow server is, and who we are there: from the caller and from MLflow's own variables.
 * What proves who we are goes into a header and nowhere else: not into messages, not into files.
 */
import { withoutCredentials } from "../../spelling/index.ts";

export interface Address {
  /** Without credentials and without a slash at the end: may be shown and stored. */
  readonly url: string;
  /** The Authorization header, if there is one. */
  readonly authorization: string | undefined;
}

type Variables = Readonly<Record<string, string | undefined>>;

export function mlflowAddress(given: string | undefined, variables: Variables): Address {
  const text = given ?? variables.MLFLOW_TRACKING_URI;
  if (!text)
    throw new Error(
      "mlflow: where is the server? Set MLFLOW_TRACKING_URI, such as http://127.0.0.1:5000",
    );
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new Error(
      `mlflow: the tracking address must be a server's, such as http://127.0.0.1:5000, not ` +
        `"${withoutCredentials(text).slice(0, 100)}". For files and databases start "mlflow server" over them`,
    );
  const url = new URL(text);
  const { username, password } = url;
  url.username = "";
  url.password = "";
  url.search = "";
  url.hash = "";
  return {
    url: url.href.replace(/\/+$/, ""),
    authorization:
      username !== "" || password !== ""
        ? basic(decodeURIComponent(username), decodeURIComponent(password))
        : authorizationOf(variables),
  };
}

/** MLflow's order: a name and a password before a token. */
function authorizationOf(variables: Variables): string | undefined {
  const { MLFLOW_TRACKING_USERNAME: user, MLFLOW_TRACKING_PASSWORD: password } = variables;
  if (user && password) return basic(user, password);
  const { MLFLOW_TRACKING_TOKEN: token } = variables;
  return token ? `Bearer ${token}` : undefined;
}

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}
