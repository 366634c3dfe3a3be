import { quote } from '../../core/hostile-text.ts';
import { formatAuthority, formatHost } from '../authority.ts';
import type { EgressRequest } from '../decide.ts';
import { type Field, tokensOf, valuesOf } from './fields.ts';
import { found, type Read, type Refused, turnDown } from './refusal.ts';

/** Refuses what a client asks of this proxy and does not get. */
export function refuseWishes(fields: readonly Field[], asked: EgressRequest): Read<null> {
  const upgrades = tokensOf(fields, 'upgrade', 'request');
  if (!upgrades.ok) return refuseUpgrade(valuesOf(fields, 'upgrade').join(', '), asked);
  // A client that offers h2c goes on with HTTP/1.1 when the offer is dropped; with any other it would not.
  const upgrade = upgrades.value.find((each) => each !== 'h2c');
  if (upgrade !== undefined) return refuseUpgrade(upgrade, asked);
  const expected = valuesOf(fields, 'expect').join(', ');
  if (expected !== '' && expected.toLowerCase() !== '100-continue')
    return turnDown(417, `Cannot meet ${quote(expected)}: it is not known, expected "100-continue"`);
  return found(null);
}

/** Other protocols go through tunnels that nobody looks into. The sentence says how to come to one. */
function refuseUpgrade(to: string, { host, port }: EgressRequest): Refused {
  const target = quote(formatAuthority(host, port));
  const expected = `CONNECT to ${target}, with the entry ${target} and without ${quote(formatHost(host))} in egress_intercept`;
  return turnDown(501, `Cannot upgrade to ${quote(to)}: the proxy reads this request, expected ${expected}`);
}
