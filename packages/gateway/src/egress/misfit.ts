import type { Scheme } from './http-url.ts';
import { isBeneath, normalizePath, widenPath } from './path.ts';
import type { Rule } from './rule.ts';

/** What is asked of a host. What is left out is not known. The path is as it was sent, with or without its query. */
export type Asked = {
  readonly port: number;
  readonly scheme?: Scheme | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
};

export type Term = 'port' | 'scheme' | 'method' | 'path';

/** Gives the first term of a rule that a request does not meet, or null when it meets all. */
export type Misfit = (rule: Rule) => Term | null;

/**
 * Compares one request with rules. A term on something that is not known is met by a denying rule and by no allowing one.
 */
export function newMisfit({ port, scheme, method, path }: Asked): Misfit {
  const wideMethod = method?.toUpperCase();
  const hasPath = newHasPath(path);
  return ({ denies, ports, scheme: ruleScheme, methods, path: prefix }) => {
    if (ports !== null && !ports.includes(port)) return 'port';
    if (ruleScheme !== null && (scheme === undefined ? !denies : scheme !== ruleScheme)) return 'scheme';
    const asked = denies ? wideMethod : method;
    if (methods !== null && (asked === undefined ? !denies : !methods.includes(asked))) return 'method';
    return prefix === null || hasPath(prefix, denies) ? null : 'path';
  };
}

/** Reads the path when the first rule asks for it, and only then. */
function newHasPath(raw: string | undefined): (prefix: string, denies: boolean) => boolean {
  let paths: { readonly plain: string; readonly wide: string } | null | undefined;
  return (prefix, denies) => {
    if (paths === undefined) {
      const plain = raw === undefined ? null : normalizePath(raw);
      paths = plain === null ? null : { plain, wide: widenPath(plain) };
    }
    // Boundary: a path that nobody sees, or that can be read in two ways, may be any path.
    if (paths === null) return denies;
    return isBeneath(denies ? paths.wide : paths.plain, prefix);
  };
}
