import { sentenceOf } from '../../src/core/result.ts';
import { type Address, parseAddress } from '../../src/egress/address.ts';
import { type AllowList, parseAllowList } from '../../src/egress/allowlist.ts';
import { type Host, parseHost } from '../../src/egress/authority.ts';
import type { EgressRequest } from '../../src/egress/decide.ts';

/** Reads what a test knows to be right. */
export function addressOf(text: string): Address {
  const address = parseAddress(text);
  if (address === null) throw new Error(`Cannot test: ${text} is not a valid address`);
  return address;
}

export function hostOf(text: string): Host {
  const host = parseHost(text);
  if (!host.ok) throw new Error(sentenceOf(host.problem));
  return host.value;
}

export function listOf(...entries: string[]): AllowList {
  const parsed = parseAllowList(entries);
  if (!parsed.ok) throw new Error(parsed.problem.map(sentenceOf).join('\n'));
  return parsed.value;
}

/** `GET https://host:port/path`, where the method and the scheme with its path may be missing: a tunnel. */
export function requestOf(text: string): EgressRequest {
  const [, method, scheme, host = '', port = '443', path] =
    /^(?:(\S+) )?(?:(https?):\/\/)?(\[[^\]]*\]|[^:/]*)(?::(\d+))?(\/.*)?$/.exec(text) ?? [];
  return {
    host: hostOf(host),
    port: Number(port),
    method,
    scheme: scheme === 'http' || scheme === 'https' ? scheme : undefined,
    path,
  };
}
