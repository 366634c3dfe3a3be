import { quote } from '../core/hostile-text.ts';
import { sentenceOf } from '../core/result.ts';
import { type AllowList, rulesFor } from './allowlist.ts';
import { parseHost } from './authority.ts';
import { decide } from './decide.ts';
import { DEFAULT_PORTS } from './http-url.ts';
import type { Rule } from './rule.ts';

/**
 * Why a host that an argument names is not to be reached; null where some request to it would be. It is a look before the
 * start and no more: what the program will ask of the host is not known, so every entry for it is tried with what that
 * entry itself names.
 */
export function denyHost(list: AllowList, raw: string): string | null {
  const host = parseHost(raw);
  // Boundary: what cannot be read here may be read by the program as anything.
  if (!host.ok) return sentenceOf(host.problem);
  const allowing = rulesFor(list, host.value).filter(({ denies }) => !denies);
  const tried = allowing.flatMap((rule) =>
    portsOf(rule).map((port) => decide(list, { ...askedBy(rule), host: host.value, port })),
  );
  if (tried.some(({ verdict }) => verdict === 'allow')) return null;
  return (
    tried[0]?.why ?? `Cannot reach ${quote(raw)}: no entry of the allow-list has this host, expected one`
  );
}

function portsOf({ ports }: Rule): readonly number[] {
  return ports ?? Object.values(DEFAULT_PORTS);
}

function askedBy({ scheme, methods, path }: Rule) {
  return {
    ...(scheme === null ? {} : { scheme }),
    ...(methods === null ? {} : { method: methods[0] }),
    ...(path === null ? {} : { path }),
  };
}
