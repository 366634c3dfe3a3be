import { describe, expect, it } from 'vitest';
import { denyNow } from '../../src/egress/decide.ts';
import { addressOf, listOf, requestOf } from './sample.ts';

const ASKED = requestOf('GET http://a.test:80/v1');
const PUBLIC = addressOf('93.184.215.14');

/** What speaks against it with this list, on a machine that has an address of its own. */
function deny(entries: readonly string[], address: string | null) {
  const own = { addresses: [PUBLIC], ports: new Set<number>() };
  const judge = { list: () => listOf(...entries), resolve: { own } };
  return denyNow(judge, ASKED, address === null ? null : addressOf(address));
}

describe('denyNow()', () => {
  it.each([
    [['a.test'], null],
    [['a.test'], '1.1.1.1'],
    [['a.test', '127.0.0.1:80'], '127.0.0.1'],
    [['a.test', '93.184.215.14:80'], '93.184.215.14'],
  ])('has nothing against a request with %j that goes to %s', (entries, address) => {
    expect(deny(entries, address)).toBeNull();
  });

  it.each([
    [['b.test'], null, 'no entry of the allow-list has this host'],
    [['a.test', '!http://a.test/v1'], '1.1.1.1', 'the entry "!http://a.test/v1" denies it'],
    [['a.test', '!1.1.1.1'], '1.1.1.1', 'the entry "!1.1.1.1" denies it'],
    [['a.test'], '127.0.0.1', 'it is an address of the machine itself'],
    [['a.test'], '93.184.215.14', 'expected an entry that names it'],
  ])('denies a request with %j that goes to %s', (entries, address, why) => {
    expect(deny(entries, address)?.why).toContain(why);
  });

  it('asks for the list each time', () => {
    let entries = ['a.test'];
    const judge = {
      list: () => listOf(...entries),
      resolve: { own: { addresses: [], ports: new Set<number>() } },
    };
    expect(denyNow(judge, ASKED, null)).toBeNull();
    entries = ['b.test'];
    expect(denyNow(judge, ASKED, null)?.verdict).toBe('deny');
  });
});
