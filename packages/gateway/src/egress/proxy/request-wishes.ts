import { quote } from '../parsed.ts';
import { type Field, tokensOf, valuesOf } from './fields.ts';
import { found, type Read, turnDown } from './refusal.ts';

/** Refuses what a client asks of this proxy and does not get. `instead` is the way to what an upgrade would give. */
export function refuseWishes(fields: readonly Field[], instead: string): Read<null> {
  const upgrades = tokensOf(fields, 'upgrade', 'request');
  if (!upgrades.ok) return refuseUpgrade(valuesOf(fields, 'upgrade').join(', '), instead);
  // A client that offers h2c goes on with HTTP/1.1 when the offer is dropped; with any other it would not.
  const upgrade = upgrades.value.find((each) => each !== 'h2c');
  if (upgrade !== undefined) return refuseUpgrade(upgrade, instead);
  const expected = valuesOf(fields, 'expect').join(', ');
  if (expected !== '' && expected.toLowerCase() !== '100-continue')
    return turnDown(417, `Cannot meet ${quote(expected)}: it is not known, expected "100-continue"`);
  return found(null);
}

function refuseUpgrade(to: string, instead: string) {
  return turnDown(501, `Cannot upgrade to ${quote(to)}: the request is a plain one, expected ${instead}`);
}
