import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hostOf } from '../sample.ts';
import { authorityOf, nameOf, serve, startTls, visit } from './authorities.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const NAME = 'api.example.com';
const LOOPBACK = '127.0.0.1';

const certificateOf = (pem: string) => new X509Certificate(pem);
const leafOf = (authority: ReturnType<typeof authorityOf>, host: string) =>
  certificateOf(authority.leafFor(hostOf(host)).certificatePem);

describe('a leaf', () => {
  it.each([
    [NAME, `DNS:${NAME}`],
    ['localhost', 'DNS:localhost'],
    ['a_b.example', 'DNS:a_b.example'],
    ['bücher.example', 'DNS:xn--bcher-kva.example'],
    [nameOf(64), `DNS:${nameOf(64)}`],
    [nameOf(65), `DNS:${nameOf(65)}`],
    [nameOf(253), `DNS:${nameOf(253)}`],
    ['192.0.2.1', 'IP Address:192.0.2.1'],
    ['0.0.0.0', 'IP Address:0.0.0.0'],
    ['255.255.255.255', 'IP Address:255.255.255.255'],
    ['[::1]', 'IP Address:0:0:0:0:0:0:0:1'],
    ['[2001:db8::7]', 'IP Address:2001:DB8:0:0:0:0:0:7'],
    ['[::ffff:192.0.2.1]', 'IP Address:192.0.2.1'],
  ])('for %j is for that host alone', (host, altName) => {
    const authority = authorityOf({});
    const leaf = leafOf(authority, host);
    const issuer = certificateOf(authority.certificatePem);
    expect(leaf.subjectAltName).toBe(altName);
    expect(leaf.checkIssued(issuer)).toBe(true);
    expect(leaf.verify(issuer.publicKey)).toBe(true);
    expect(leaf.verify(leaf.publicKey)).toBe(false);
    expect(leaf.checkHost('other.example')).toBeUndefined();
    expect(leaf.checkHost(`sub.${NAME}`)).toBeUndefined();
    expect(leaf.checkIP('192.0.2.2')).toBeUndefined();
  });

  it('is for its host in every spelling, and for no name that only ends like it', () => {
    const authority = authorityOf({});
    expect(leafOf(authority, NAME).checkHost('API.example.COM')).toBeTruthy();
    expect(leafOf(authority, NAME).checkHost('xapi.example.com')).toBeUndefined();
    expect(leafOf(authority, '[2001:db8::7]').checkIP('2001:db8:0:0::7')).toBeTruthy();
    expect(leafOf(authority, '192.0.2.1').checkIP('192.0.2.1')).toBeTruthy();
    expect(leafOf(authority, '192.0.2.1').checkHost('192.0.2.1')).toBeUndefined();
  });

  it('has its name for people where the field can hold it, and none otherwise', () => {
    const authority = authorityOf({});
    expect(leafOf(authority, NAME).subject).toBe(`CN=${NAME}`);
    expect(leafOf(authority, nameOf(64)).subject).toBe(`CN=${nameOf(64)}`);
    expect(leafOf(authority, nameOf(65)).subject).toBeFalsy();
    expect(leafOf(authority, '192.0.2.1').subject).toBeFalsy();
  });

  it('for any name of any length is one that OpenSSL reads as it was meant', () => {
    const authority = authorityOf({});
    const issuer = certificateOf(authority.certificatePem);
    fc.assert(
      fc.property(fc.stringMatching(/^([a-z0-9]{1,62}\.){1,3}example$/), (name) => {
        const leaf = leafOf(authority, name);
        expect(leaf.subjectAltName).toBe(`DNS:${name}`);
        expect(leaf.checkHost(name)).toBe(name);
        expect(leaf.verify(issuer.publicKey)).toBe(true);
      }),
    );
  });

  it('has a key of its own, which is not that of the authority', () => {
    const authority = authorityOf({});
    const leaves = [authority.leafFor(hostOf(NAME)), authority.leafFor(hostOf(NAME))];
    const keys = leaves.map(({ keyPem }) => createPublicKey(keyPem).export({ type: 'spki', format: 'pem' }));
    const own = certificateOf(authority.certificatePem).publicKey.export({ type: 'spki', format: 'pem' });
    expect(new Set([...keys, own]).size).toBe(3);
    for (const { keyPem, certificatePem } of leaves)
      expect(certificateOf(certificatePem).checkPrivateKey(createPrivateKey(keyPem))).toBe(true);
  });

  it('cannot be an authority', () => {
    expect(leafOf(authorityOf({}), NAME).ca).toBe(false);
  });

  it('says what its key is for in the shortest form, and so does the authority', () => {
    const authority = authorityOf({});
    const KEY_USAGE = '0603551d0f0101ff0404';
    const hexOf = ({ raw }: X509Certificate) => raw.toString('hex');
    expect(hexOf(leafOf(authority, NAME))).toContain(`${KEY_USAGE}03020780`);
    expect(hexOf(certificateOf(authority.certificatePem))).toContain(`${KEY_USAGE}03020204`);
  });
});

describe('an authority', () => {
  it('signs itself and is nobody else', () => {
    const own = certificateOf(authorityOf({ name: 'Palisade run 1' }).certificatePem);
    expect(own.subject).toBe('CN=Palisade run 1');
    expect(own.issuer).toBe(own.subject);
    expect(own.ca).toBe(true);
    expect(own.checkIssued(own)).toBe(true);
    expect(own.verify(own.publicKey)).toBe(true);
    expect(own.subjectAltName).toBeUndefined();
  });

  it('shows its key to nobody who looks at it', () => {
    const authority = authorityOf({});
    const shown =
      inspect(authority, { showHidden: true, depth: 9, getters: true }) + JSON.stringify(authority);
    expect(shown).toContain('BEGIN CERTIFICATE');
    expect(shown).not.toMatch(/PRIVATE|KeyObject/);
  });

  it('with the name of another does not vouch for the leaves of the other', () => {
    const [one, other] = [authorityOf({ name: 'Twin' }), authorityOf({ name: 'Twin' })];
    const [own, foreign] = [one, other].map(({ certificatePem }) => certificateOf(certificatePem));
    const leaf = leafOf(one, NAME);
    expect(own?.subject).toBe(foreign?.subject);
    expect([own, foreign].map((each) => each !== undefined && leaf.checkIssued(each))).toEqual([true, false]);
    expect([own, foreign].map((each) => each !== undefined && leaf.verify(each.publicKey))).toEqual([
      true,
      false,
    ]);
  });

  it.each([
    ['no name', { name: '' }],
    ['a name of 65 characters', { name: 'n'.repeat(65) }],
    ['no life', { lifeMs: 0 }],
    ['a life that clients refuse', { lifeMs: 398 * DAY_MS }],
    ['a life that is no number', { lifeMs: Number.NaN }],
    ['a time before 1970', { nowMs: -1 }],
    ['a time that is no number', { nowMs: Number.NaN }],
    ['a time after 9998', { nowMs: Date.UTC(9998, 11, 31, 23, 30) }],
    ['a serial of 7 bytes', { serial: () => Buffer.alloc(7) }],
    ['a serial of 21 bytes', { serial: () => Buffer.alloc(21) }],
  ])('is not made with %s', (_what, terms) => {
    expect(() => authorityOf(terms)).toThrow(/^Cannot (make authority|sign certificate): .*, expected /);
  });
});

describe('a serial', () => {
  it.each([
    ['all bits are set', Buffer.alloc(20, 0xff)],
    ['none is', Buffer.alloc(20)],
    ['it is short', Buffer.from('80000000000000ff', 'hex')],
  ])('is positive and as long as it was handed in when %s', (_what, serial) => {
    const { serialNumber, raw } = certificateOf(authorityOf({ serial: () => serial }).certificatePem);
    expect(serialNumber).toMatch(/^[4-7][0-9A-F]+$/);
    expect(serialNumber.length).toBe(serial.length * 2);
    expect(serialNumber.slice(2)).toBe(serial.toString('hex', 1).toUpperCase());
    expect(raw.toString('hex')).toContain(
      `02${serial.length.toString(16).padStart(2, '0')}${serialNumber.toLowerCase()}`,
    );
  });

  it('is asked for once for each certificate', () => {
    let count = 0;
    const serial = () => Buffer.alloc(16, ++count);
    const authority = authorityOf({ serial });
    const certificates = [authority.certificatePem, authority.leafFor(hostOf(NAME)).certificatePem].map(
      certificateOf,
    );
    expect(certificates.map(({ serialNumber }) => serialNumber.slice(2, 4))).toEqual(['01', '02']);
  });
});

describe('the time of a certificate', () => {
  const span = ({ validFrom, validTo }: X509Certificate) =>
    [validFrom, validTo].map((each) => Date.parse(each));

  it.each([
    ['2026-11-15T10:00:00.999Z', 3_600_000],
    ['2049-12-31T23:30:00.000Z', 3_600_000],
    ['2050-01-01T00:04:59.000Z', 3_600_000],
    ['2050-06-01T00:00:00.000Z', 397 * DAY_MS],
    ['1970-01-01T00:00:00.000Z', 1_000],
    ['9990-01-01T00:00:00.000Z', DAY_MS],
  ])('made at %s is from five minutes before to the end of its life', (at, lifeMs) => {
    const nowMs = Date.parse(at);
    const authority = authorityOf({ nowMs, lifeMs });
    const seconds = (ms: number) => Math.floor(ms / 1_000) * 1_000;
    const expected = [seconds(nowMs - 5 * MINUTE_MS), seconds(nowMs + lifeMs)];
    expect(span(certificateOf(authority.certificatePem))).toEqual(expected);
    expect(span(leafOf(authority, NAME))).toEqual(expected);
    expect(span(leafOf(authority, NAME)).reduce((from, to) => to - from)).toBeLessThan(398 * DAY_MS);
  });

  it('has the short form to 2049 and the long one from 2050', () => {
    const forms = (nowMs: number) =>
      certificateOf(authorityOf({ nowMs, lifeMs: DAY_MS }).certificatePem).raw.toString('latin1');
    expect(forms(Date.UTC(2026, 0, 2, 0, 5))).toContain('\x17\x0d260102000000Z\x17\x0d260103000500Z');
    expect(forms(Date.UTC(2049, 11, 31, 12))).toContain('\x17\x0d491231115500Z\x18\x0f20500101120000Z');
    expect(forms(Date.UTC(2050, 0, 2))).toContain('\x18\x0f20500101235500Z\x18\x0f20500103000000Z');
  });
});

describe('a handshake', () => {
  it.each([NAME, 'localhost', nameOf(253), LOOPBACK])(
    'with %j succeeds for who trusts the authority, and for nobody else',
    async (host) => {
      const [authority, other] = [authorityOf({}), authorityOf({})];
      const port = await startTls(serve(authority.leafFor(hostOf(host))));
      expect(await visit({ port, host, ca: authority.certificatePem })).toBe('trusted');
      expect(await visit({ port, host, ca: other.certificatePem })).toMatch(/SIGNATURE|ISSUER/);
      expect(await visit({ port, host })).toMatch(/SIGNATURE|ISSUER/);
    },
  );

  it('with another host than the one of the leaf fails', async () => {
    const { leafFor, certificatePem: ca } = authorityOf({});
    const port = await startTls(serve(leafFor(hostOf(NAME))));
    expect(await visit({ port, host: NAME, ca })).toBe('trusted');
    for (const host of ['www.example.com', 'example.com', LOOPBACK])
      expect(await visit({ port, host, ca })).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it.each([
    ['four minutes ahead', 4 * MINUTE_MS, 'trusted'],
    ['ten minutes ahead', 10 * MINUTE_MS, 'CERT_NOT_YET_VALID'],
    ['half an hour ago', -30 * MINUTE_MS, 'trusted'],
    ['two hours ago', -120 * MINUTE_MS, 'CERT_HAS_EXPIRED'],
  ])('when it was made %s and lives for an hour: %s', async (_what, offsetMs, found) => {
    const { leafFor, certificatePem: ca } = authorityOf({ nowMs: Date.now() + offsetMs });
    const port = await startTls(serve(leafFor(hostOf(NAME))));
    expect(await visit({ port, host: NAME, ca })).toContain(found);
  });
});
