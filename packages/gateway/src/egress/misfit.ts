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

/** What is asked, in the forms in which rules compare it. A path is read when the first rule asks for it, and only then. */
export type Question = {
  readonly port: number;
  readonly scheme: Scheme | undefined;
  readonly method: string | undefined;
  readonly wideMethod: string | undefined;
  /** Null when it is not known, or can be read in two ways. */
  readonly path: () => string | null;
  /** As a denying rule compares it. */
  readonly widePath: () => string | null;
};

export type Term = 'port' | 'scheme' | 'method' | 'path';

export function newQuestion({ port, scheme, method, path: raw }: Asked): Question {
  let plain: string | null | undefined;
  let wide: string | null | undefined;
  const path = () => {
    if (plain === undefined) plain = raw === undefined ? null : normalizePath(raw);
    return plain;
  };
  const widePath = () => {
    if (wide !== undefined) return wide;
    const known = path();
    wide = known === null ? null : widenPath(known);
    return wide;
  };
  return { port, scheme, method, wideMethod: method?.toUpperCase(), path, widePath };
}

/**
 * The first term of a rule that a request does not meet, or null when it meets all. A term on something that is not known
 * is met by a denying rule and by no allowing one.
 */
export function misfit(rule: Rule, question: Question): Term | null {
  const { denies, ports, scheme, methods, path: prefix } = rule;
  if (ports !== null && !ports.includes(question.port)) return 'port';
  if (scheme !== null && (question.scheme === undefined ? !denies : question.scheme !== scheme))
    return 'scheme';
  const method = denies ? question.wideMethod : question.method;
  if (methods !== null && (method === undefined ? !denies : !methods.includes(method))) return 'method';
  if (prefix === null) return null;
  const path = denies ? question.widePath() : question.path();
  // Boundary: a path that nobody sees, or that can be read in two ways, may be any path.
  const isMet = path === null ? denies : isBeneath(path, prefix);
  return isMet ? null : 'path';
}
