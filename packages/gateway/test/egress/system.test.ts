import { describe, expect, it } from 'vitest';
import { formatAddress } from '../../src/egress/address.ts';
import type { HostName } from '../../src/egress/authority.ts';
import { parseHost } from '../../src/egress/authority.ts';
import { ownOf, systemLookup } from '../../src/egress/resolve.ts';

function nameOf(text: string): HostName {
  const host = parseHost(text);
  if (!host.ok || host.value.kind !== 'name') throw new Error(`Cannot test: ${text} is no name`);
  return host.value.name;
}

describe('systemLookup()', () => {
  it('gives every address of a name that the system knows', async () => {
    const answers = await systemLookup(nameOf('localhost'), new AbortController().signal);
    expect(answers.length).toBeGreaterThan(0);
    for (const answer of answers) expect(['127.0.0.1', '::1']).toContain(answer);
  });

  it('asks nothing for a call that has ended', async () => {
    await expect(systemLookup(nameOf('localhost'), AbortSignal.abort())).rejects.toThrow();
  });
});

describe('ownOf()', () => {
  it('lists every address of every interface, without its zone', () => {
    const interfaces = {
      lo: [{ address: '127.0.0.1' }, { address: '::1' }],
      eth0: [{ address: '192.0.2.7' }, { address: 'fe80::1%eth0' }, { address: 'fe80::2%3' }],
      gone: undefined,
    };
    const { addresses, ports } = ownOf(interfaces, [8_080, 8_443]);
    expect(addresses.map(formatAddress)).toEqual(['127.0.0.1', '::1', '192.0.2.7', 'fe80::1', 'fe80::2']);
    expect([...ports]).toEqual([8_080, 8_443]);
  });

  it('knows the machine that it runs on', () => {
    const { addresses } = ownOf(undefined, []);
    expect(addresses.map(formatAddress)).toContain('127.0.0.1');
  });

  it('does not leave out what it cannot read', () => {
    expect(() => ownOf({ eth0: [{ address: 'eth0' }] }, [])).toThrow(
      'Cannot list own addresses: "eth0" is none, expected an IP address',
    );
  });
});
