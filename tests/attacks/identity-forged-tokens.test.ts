import { createHmac, createPublicKey, type JsonWebKeyInput } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { NOON } from '../../packages/gateway/test/fixture/gateway.ts';
import {
  isSignedBy,
  type KeyPair,
  newKey,
  openDoor,
  readUnverified,
  startIssuer,
  startPages,
  type TestIssuer,
  verdictOf,
} from '../../packages/gateway/test/identity/issuer.ts';

/* Somebody makes a token of their own, or one of a good token. Each time the honest token comes in by the same door. */

const NOW_S = NOON / 1000;

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const partsOf = (token: string) => token.split('.') as [string, string, string];

/** A token with another header over the claims of a good one, signed by whatever the attacker has. */
async function withHeader(
  issuer: TestIssuer,
  header: object,
  sign: (message: string) => string,
): Promise<string> {
  const [, claims] = partsOf(await issuer.sign({ sub: 'mallory' }));
  const message = `${encode(header)}.${claims}`;
  return `${message}.${sign(message)}`;
}

/** The door takes the honest token and not the forged one, which says that it is somebody. */
async function expectForged(issuer: TestIssuer, forged: string): Promise<void> {
  const enter = openDoor(issuer);
  expect(readUnverified(forged).claims).toMatchObject({ iss: issuer.url });
  expect(verdictOf(await enter(forged))).toBe('invalid');
  expect(verdictOf(await enter(await issuer.sign()))).toBe('ok');
  expect(verdictOf(await enter(forged))).toBe('invalid');
}

describe('a token without a signature', () => {
  test.each(['none', 'None', 'NONE', 'nOnE', '', 'null'])(
    'of the algorithm %j lets nobody in',
    async (alg) => {
      const issuer = await startIssuer();
      const [, claims, signature] = partsOf(await issuer.sign({ sub: 'mallory' }));
      const head = encode({ alg, typ: 'at+jwt', kid: issuer.key.kid });
      for (const end of ['', signature, 'AA']) await expectForged(issuer, `${head}.${claims}.${end}`);
    },
  );

  test('that leaves out its algorithm, or has it as a list, lets nobody in', async () => {
    const issuer = await startIssuer();
    for (const alg of [undefined, ['ES256'], null, { ES256: 1 }])
      await expectForged(
        issuer,
        await withHeader(issuer, { alg, typ: 'at+jwt', kid: 'key-1' }, () => 'AAAA'),
      );
  });
});

describe('a token that is signed with the public key as a shared secret', () => {
  const secretsOf = ({ key }: TestIssuer): readonly (readonly [string, Buffer])[] => {
    const publicKey = createPublicKey({ key: key.publicJwk, format: 'jwk' } as JsonWebKeyInput);
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    return [
      ['its PEM', Buffer.from(pem)],
      ['its PEM with a line end', Buffer.from(`${pem.trimEnd()}\n`)],
      ['its DER', publicKey.export({ type: 'spki', format: 'der' })],
      ['its JWK', Buffer.from(JSON.stringify(key.publicJwk))],
      ['its modulus', Buffer.from(key.publicJwk.n ?? '', 'base64url')],
      ['nothing', Buffer.alloc(0)],
    ];
  };

  test.each([
    ['HS256', 'sha256'],
    ['HS384', 'sha384'],
    ['HS512', 'sha512'],
  ])('by %s lets nobody in, though the signature fits', async (alg, hash) => {
    const issuer = await startIssuer('RS256');
    for (const [what, secret] of secretsOf(issuer)) {
      const hmac = (message: string) => createHmac(hash, secret).update(message).digest('base64url');
      const forged = await withHeader(issuer, { alg, typ: 'at+jwt', kid: 'key-1' }, hmac);
      const [head, claims, signature] = partsOf(forged);
      // A verifier that took the algorithm from the token would have been satisfied.
      expect([what, hmac(`${head}.${claims}`)]).toEqual([what, signature]);
      await expectForged(issuer, forged);
    }
  });

  test('lets nobody in either where the issuer itself serves a shared secret', async () => {
    const issuer = await startIssuer();
    const secret = Buffer.alloc(32, 7);
    const jwk = { kty: 'oct', k: secret.toString('base64url'), kid: 'shared', alg: 'HS256' };
    issuer.serveKeys([issuer.key.publicJwk, jwk]);
    const hmac = (message: string) => createHmac('sha256', secret).update(message).digest('base64url');
    const forged = await withHeader(issuer, { alg: 'HS256', typ: 'at+jwt', kid: 'shared' }, hmac);
    expect(await isSignedBy(forged, jwk, 'HS256')).toBe(true);
    await expectForged(issuer, forged);
  });
});

describe('a token of a key that is not the issuer’s', () => {
  test('lets nobody in, whether it names that key or one of the issuer', async () => {
    const issuer = await startIssuer();
    const own = await newKey('mallory');
    for (const kid of ['mallory', 'key-1', undefined, '', '../key-1', '__proto__', 'constructor']) {
      const forged = await issuer.sign({ sub: 'mallory' }, { kid }, own);
      expect(await isSignedBy(forged, own.publicJwk, 'ES256')).toBe(true);
      expect(await isSignedBy(forged, issuer.key.publicJwk, 'ES256')).toBe(false);
      await expectForged(issuer, forged);
    }
  });

  test('lets nobody in when the token brings the key along, or says where it is', async () => {
    const issuer = await startIssuer();
    const own = await newKey('mallory');
    const pages = new Map([['/jwks', JSON.stringify({ keys: [own.publicJwk] })]]);
    const { origin, asked } = await startPages(pages);
    for (const more of [
      { jwk: own.publicJwk },
      { jku: `${origin}/jwks` },
      { x5u: `${origin}/jwks` },
      { x5c: ['AAAA'] },
      { iss: origin },
    ]) {
      const forged = await issuer.sign({ sub: 'mallory' }, { kid: 'mallory', ...more }, own);
      expect(readUnverified(forged).header).toMatchObject(more);
      await expectForged(issuer, forged);
    }
    // The key is there to be fetched, and nobody came for it.
    expect(asked).toEqual([]);
    await fetch(`${origin}/jwks`);
    expect(asked).toEqual(['/jwks']);
  });

  test('is refused once the issuer has changed its keys', async () => {
    const issuer = await startIssuer();
    const old: KeyPair = issuer.key;
    let nowMs = 0;
    const enter = openDoor(issuer, { clock: { nowMs: () => NOON, monotonicMs: () => nowMs } });
    expect(verdictOf(await enter(await issuer.sign({}, {}, old)))).toBe('ok');
    const fresh = await newKey('key-2');
    issuer.serveKeys([fresh.publicJwk]);
    nowMs = 300_000;
    expect(verdictOf(await enter(await issuer.sign({}, {}, old)))).toBe('invalid');
    expect(verdictOf(await enter(await issuer.sign({}, {}, fresh)))).toBe('ok');
  });

  test('is not taken for one because its issuer says the same of itself', async () => {
    const [honest, evil] = [await startIssuer(), await startIssuer()];
    evil.pages.set(
      '/.well-known/oauth-authorization-server',
      JSON.stringify({ issuer: honest.url, jwks_uri: `${evil.url}/jwks` }),
    );
    const forged = await evil.sign({ iss: honest.url });
    await expectForged(honest, forged);
    expect(verdictOf(await openDoor(evil)(await evil.sign()))).toBe('invalid');
  });
});

describe('a good token', () => {
  test.each([
    ['for another audience', { aud: 'https://other.example.com' }, 'invalid'],
    ['for an audience that begins the same', { aud: 'https://palisade.example.com.evil.io' }, 'invalid'],
    ['for an audience in other letters', { aud: 'https://PALISADE.example.com' }, 'invalid'],
    ['for an audience inside a longer text', { aud: 'x https://palisade.example.com' }, 'invalid'],
    ['for everybody', { aud: '*' }, 'invalid'],
    ['for nobody', { aud: undefined }, 'invalid'],
    ['for an object', { aud: { 0: 'https://palisade.example.com' } }, 'invalid'],
    ['of another issuer', { iss: 'https://id.example.com' }, 'invalid'],
    ['of the issuer with a slash', { iss: 'http://127.0.0.1/' }, 'invalid'],
    ['of a list of issuers', { iss: ['https://id.example.com'] }, 'invalid'],
    ['without an issuer', { iss: undefined }, 'invalid'],
    ['that has ended', { exp: NOW_S - 60 }, 'expired'],
    ['that never ends', { exp: undefined }, 'invalid'],
    ['whose end is a text', { exp: `${NOW_S + 60}` }, 'invalid'],
    ['of tomorrow', { nbf: NOW_S + 86_400 }, 'invalid'],
  ])('%s lets nobody in', async (_, claims, verdict) => {
    const issuer = await startIssuer();
    const enter = openDoor(issuer);
    const token = await issuer.sign(claims);
    // All else about it is in order: the signature is the issuer's.
    expect(await isSignedBy(token, issuer.key.publicJwk, 'ES256')).toBe(true);
    expect(verdictOf(await enter(token))).toBe(verdict);
    expect(verdictOf(await enter(await issuer.sign()))).toBe('ok');
  });

  test('that says that one must understand what nobody here does lets nobody in', async () => {
    const issuer = await startIssuer();
    const enter = openDoor(issuer);
    const [, claims] = partsOf(await issuer.sign());
    const withMore = async (more: object) => {
      const message = `${encode({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1', ...more })}.${claims}`;
      const how = { name: 'ECDSA', hash: 'SHA-256' };
      const signature = await crypto.subtle.sign(how, issuer.key.privateKey, Buffer.from(message));
      return verdictOf(await enter(`${message}.${Buffer.from(signature).toString('base64url')}`));
    };
    expect(await withMore({ exp: 1, policy: 'https://example.com' })).toBe('ok');
    for (const more of [
      { crit: ['policy'], policy: 'https://example.com' },
      { crit: [] },
      { crit: 'exp' },
      { crit: ['b64'], b64: false },
      { kid: 7 },
      { kid: ['key-1'] },
    ])
      expect([more, await withMore(more)]).toEqual([more, 'invalid']);
  });

  test('whose claims were changed lets nobody in', async () => {
    const issuer = await startIssuer();
    const [head, claims, signature] = partsOf(await issuer.sign());
    const payload = JSON.parse(Buffer.from(claims, 'base64url').toString());
    for (const change of [
      { sub: 'grace' },
      { scope: 'admin' },
      { exp: NOW_S + 9_999_999 },
      { aud: [payload.aud] },
    ])
      await expectForged(issuer, `${head}.${encode({ ...payload, ...change })}.${signature}`);
  });

  test('that was cut, lengthened or changed in one character lets nobody in', async () => {
    const issuer = await startIssuer();
    const enter = openDoor(issuer);
    const token = await issuer.sign();
    const changed = [...token].map(
      (char, i) => token.slice(0, i) + (char === 'A' ? 'B' : 'A') + token.slice(i + 1),
    );
    const cut = [1, 2, 3, 10, 86].map((count) => token.slice(0, -count));
    const longer = ['A', '.', '=', '==', '.AAAA', '.AAAA.BBBB', 'AAAA'].map((end) => token + end);
    const others = [`.${token}`, token.replace('.', '..'), `${token}.${token}`, token.replaceAll('.', ',')];
    for (const near of [...changed, ...cut, ...longer, ...others])
      expect([near, verdictOf(await enter(near))]).toEqual([near, 'invalid']);
    expect(verdictOf(await enter(token))).toBe('ok');
  });

  test('has one text: the spare bits of its last characters make no second one', async () => {
    const issuer = await startIssuer();
    const token = await issuer.sign();
    const [head, claims, signature] = partsOf(token);
    const bytes = Buffer.from(signature, 'base64url');
    const same = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
      .map((last) => signature.slice(0, -1) + last)
      .filter((each) => Buffer.from(each, 'base64url').equals(bytes));
    expect(same.length).toBeGreaterThan(1);
    const enter = openDoor(issuer);
    const taken = [];
    for (const each of same) if ((await enter(`${head}.${claims}.${each}`)).ok) taken.push(each);
    expect(taken).toEqual([signature]);
  });
});
