/**
 * @file Where in the page one is: the part of the address behind "#", so that every view has a link.
 */
import { useEffect, useState } from "preact/hooks";

export interface Route {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts, query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function linkTo(parts: readonly string[], query: Record<string, string> = {}): string {
  const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  const behind = words.size > 0 ? `?${words}` : "";
  return `#/${parts.map(encodeURIComponent).join("/")}${behind}`;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const change = () => {
      setRoute(routeOf(location.hash));
      scrollTo(0, 0);
    };
    addEventListener("hashchange", change);
    return () => removeEventListener("hashchange", change);
  }, []);
  return route;
}
