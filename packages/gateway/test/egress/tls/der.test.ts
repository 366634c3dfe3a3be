/** Values as OpenSSL reads them. */
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as der from '../../../src/egress/tls/der.ts';

function read(input: Uint8Array): string {
  return execFileSync('openssl', ['asn1parse', '-inform', 'DER'], { input, stdio: 'pipe' }).toString();
}

describe('a value', () => {
  it.each([
    ['objectId', der.objectId('1.2.840.10045.4.3.2'), 'OBJECT            :ecdsa-with-SHA256'],
    ['objectId', der.objectId('2.5.29.17'), 'OBJECT            :X509v3 Subject Alternative Name'],
    ['objectId', der.objectId('1.3.6.1.5.5.7.3.1'), 'OBJECT            :TLS Web Server Authentication'],
    ['integer', der.integer(2), 'INTEGER           :02'],
    ['integer', der.integer(Buffer.from('40ff', 'hex')), 'INTEGER           :40FF'],
    ['yes', der.yes(), 'BOOLEAN           :255'],
    ['utf8', der.utf8('bücher'), 'UTF8STRING        :bücher'],
    ['time', der.time(Date.UTC(2049, 11, 31, 23, 59, 59, 999)), 'UTCTIME           :491231235959Z'],
    ['time', der.time(Date.UTC(2050, 0, 1)), 'GENERALIZEDTIME   :20500101000000Z'],
    ['octetString', der.octetString(Buffer.from('ab', 'hex')), 'OCTET STRING      [HEX DUMP]:AB'],
    ['bitString', der.bitString(Buffer.from([0b1000_0000]), 7), 'BIT STRING'],
    ['sequence', der.sequence(), 'SEQUENCE'],
    ['set', der.set(der.integer(1)), 'SET'],
    ['context', der.context(2, Buffer.from('a')), 'cont [ 2 ]'],
    ['contextAround', der.contextAround(3, der.integer(1)), 'cont [ 3 ]'],
  ])('made by %s() is read as one', (_what, bytes, text) => {
    expect(read(bytes)).toContain(text);
  });

  it.each([0, 1, 127, 128, 255, 256, 65_535, 65_536])('of %i bytes has the shortest length', (count) => {
    const bytes = der.octetString(Buffer.alloc(count, 1));
    const header = count < 128 ? 2 : count < 256 ? 3 : count < 65_536 ? 4 : 5;
    expect(bytes.length).toBe(count + header);
    expect(read(bytes)).toMatch(new RegExp(`hl=${header} l= *${count} prim`));
  });

  it('is read back whole, whatever the object identifier', () => {
    const part = fc.integer({ min: 0, max: 2 ** 31 - 1 });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
        const dotted = ['1', '3', ...parts].join('.');
        expect(der.objectId(dotted).subarray(2).toString('hex')).toBe(groupsOf(['43', ...parts.map(String)]));
      }),
    );
  });
});

/** Each number in binary, cut into sevens from its end, with a one before each but the last. */
function groupsOf(numbers: readonly string[]): string {
  const bytes = numbers.flatMap((number) => {
    const bits = BigInt(number).toString(2);
    const sevens = bits.padStart(Math.ceil(bits.length / 7) * 7, '0').match(/.{7}/g) ?? [];
    return sevens.map((seven, index) => `${index === sevens.length - 1 ? '0' : '1'}${seven}`);
  });
  return bytes.map((byte) => Number.parseInt(byte, 2).toString(16).padStart(2, '0')).join('');
}
