import { sign } from 'node:crypto';
import { canonicalize, encodeEnvelope, preAuthEncoding } from '@palisade/sdk';
import { describe, expect, it } from 'vitest';
import { documentOf, type SigningKey } from '../../../src/attest/key-files.ts';
import { readArchive, writeArchive } from '../../../src/skills/package/archive.ts';
import { openPackage } from '../../../src/skills/package/open-package.ts';
import { packSkill, signPackage } from '../../../src/skills/package/pack.ts';
import { keyFrom, moduleBy, PALISADE, sampleFiles, signedSample, unsignedSample } from './sample.ts';

const IN_TOTO = 'application/vnd.in-toto+json';
const KEY = keyFrom(1);
const OTHER_KEY = keyFrom(2);
const SIGNED = signedSample(KEY);
const SIGNATURE = 'signature.dsse.json';

type Envelope = { payload: string; payloadType: string; signatures: { keyid: string; sig: string }[] };
type Identity = { id: string; name: string; publisher: string; version: string };
type Statement = {
  subject: { name: string; digest: { sha256: string } }[];
  predicate: { skill: Identity; sizes: { name: string; bytes: number }[] };
};

/** The signed package with files put in the place of its own; null takes one out. The archive is sound again. */
function swap(changes: Readonly<Record<string, string | Uint8Array | null>>): Uint8Array {
  const entries = new Map(readArchive(SIGNED));
  for (const [path, contents] of Object.entries(changes)) {
    if (contents === null) entries.delete(path);
    else entries.set(path, Buffer.from(contents));
  }
  return writeArchive(entries);
}

function envelopeOf(bytes: Uint8Array): Envelope {
  return JSON.parse(textIn(bytes, SIGNATURE)) as Envelope;
}

function textIn(bytes: Uint8Array, path: string): string {
  return Buffer.from(readArchive(bytes).get(path) ?? []).toString();
}

function payloadOf(bytes: Uint8Array): string {
  return Buffer.from(envelopeOf(bytes).payload, 'base64').toString();
}

/** The package with a truthful signature over another list. */
function signOver(
  payload: string,
  { type = IN_TOTO, key = KEY }: { type?: string; key?: SigningKey } = {},
): Uint8Array {
  const bytes = Buffer.from(payload);
  const signature = sign(null, preAuthEncoding(type, bytes), key.privateKey);
  return swap({ [SIGNATURE]: encodeEnvelope(type, bytes, key.keyId, signature) });
}

/** The list of the package after a change, signed by its own key. */
function signChanged(change: (statement: Statement) => void): Uint8Array {
  const statement = JSON.parse(payloadOf(SIGNED)) as Statement;
  change(statement);
  return signOver(canonicalize(statement));
}

function withEnvelope(change: (envelope: Envelope) => void): Uint8Array {
  const envelope = envelopeOf(SIGNED);
  change(envelope);
  return swap({ [SIGNATURE]: canonicalize(envelope) });
}

const firstSignature = (envelope: Envelope) => envelope.signatures[0] ?? { keyid: '', sig: '' };
const otherPackage = () =>
  signPackage(packSkill(sampleFiles({ 'src/text.ts': '// another\n' }), { palisade: PALISADE }), KEY);
const manifest = () => textIn(SIGNED, 'skill.toml');

const REFUSED: readonly (readonly [string, () => Uint8Array, RegExp])[] = [
  [
    'another module',
    () => swap({ 'text.wasm': moduleBy('other', '1') }),
    /entry "text\.wasm" differs from what was signed/,
  ],
  [
    'another manifest',
    () => swap({ 'skill.toml': manifest().replace('"low"', '"high"') }),
    /entry "skill\.toml" differs from what was signed/,
  ],
  [
    'other prose',
    () => swap({ 'SKILL.md': `${textIn(SIGNED, 'SKILL.md')}Obey.\n` }),
    /entry "SKILL\.md" differs from what was signed/,
  ],
  [
    'another schema',
    () => swap({ 'schemas/words.input.json': '{}' }),
    /entry "schemas\/words\.input\.json" differs from what was signed/,
  ],
  [
    'another bill of materials',
    () => swap({ 'sbom.cdx.json': '{}' }),
    /entry "sbom\.cdx\.json" differs from what was signed/,
  ],
  ['one more file', () => swap({ 'extra.txt': 'x' }), /entry "extra\.txt" is not in the signed list/],
  ['one file less', () => swap({ 'tests/words.json': null }), /the signed list has "tests\/words\.json"/],
  [
    'a file that was renamed',
    () => swap({ 'tests/words.json': null, 'tests/w.json': '{"cases":[]}' }),
    /"tests\/w\.json" is not in the signed list/,
  ],
  ['no key', () => swap({ 'publisher.key.json': null }), /has a signature and no publisher\.key\.json/],
  [
    'the key of another',
    () => swap({ 'publisher.key.json': documentOf(OTHER_KEY, null) }),
    /is signed by "sha256:/,
  ],
  [
    'its key with another time',
    () => swap({ 'publisher.key.json': documentOf({ ...KEY, createdAt: '2020-01-01T00:00:00.000Z' }, null) }),
    /"publisher\.key\.json" differs from what was signed/,
  ],
  [
    'its key with spare whitespace',
    () => swap({ 'publisher.key.json': `${documentOf(KEY, null)}\n` }),
    /spare whitespace/,
  ],
  [
    'a retired key',
    () => swap({ 'publisher.key.json': documentOf(KEY, '2026-02-02T00:00:00.000Z') }),
    /retired at 2026-02-02/,
  ],
  ['no key document as a key', () => swap({ 'publisher.key.json': '{}' }), /publisher\.key\.json: /],
  [
    'bytes as a key',
    () => swap({ 'publisher.key.json': Buffer.from([0xff]) }),
    /publisher\.key\.json is not UTF-8/,
  ],
  [
    'an id that is not of the key',
    () => swap({ 'publisher.key.json': documentOf({ ...KEY, keyId: OTHER_KEY.keyId }, null) }),
    /field "keyId" is/,
  ],
  [
    'the signature of another package',
    () => swap({ [SIGNATURE]: textIn(otherPackage(), SIGNATURE) }),
    /differs from what was signed/,
  ],
  [
    'a signature by another key',
    () => signOver(payloadOf(SIGNED), { key: OTHER_KEY }),
    /is signed by "sha256:/,
  ],
  [
    'a signature by another key under the name of its own',
    () => signOver(payloadOf(SIGNED), { key: { ...OTHER_KEY, keyId: KEY.keyId } }),
    /does not hold/,
  ],
  [
    'a signature over other bytes',
    () =>
      withEnvelope((envelope) => {
        envelope.payload = Buffer.from(`${payloadOf(SIGNED)} `).toString('base64');
      }),
    /does not hold/,
  ],
  [
    'a signature with a bit changed',
    () =>
      withEnvelope((envelope) => {
        firstSignature(envelope).sig = flipped(firstSignature(envelope).sig);
      }),
    /does not hold/,
  ],
  [
    'a signature that is spelled otherwise',
    () =>
      withEnvelope((envelope) => {
        firstSignature(envelope).sig = firstSignature(envelope).sig.replace('==', '');
      }),
    /canonical base64/,
  ],
  [
    'a payload of another type',
    () => signOver(payloadOf(SIGNED), { type: 'application/json' }),
    /field "payloadType" is/,
  ],
  [
    'its type changed after signing',
    () =>
      withEnvelope((envelope) => {
        envelope.payloadType = 'application/json';
      }),
    /field "payloadType" is/,
  ],
  [
    'two signatures',
    () =>
      withEnvelope((envelope) => {
        envelope.signatures.push(firstSignature(envelope));
      }),
    /signature\.dsse\.json: /,
  ],
  [
    'no signature in the envelope',
    () =>
      withEnvelope((envelope) => {
        envelope.signatures = [];
      }),
    /signature\.dsse\.json: /,
  ],
  [
    'spare whitespace in the envelope',
    () => swap({ [SIGNATURE]: JSON.stringify(envelopeOf(SIGNED), null, 1) }),
    /canonical/,
  ],
  [
    'a line feed after the envelope',
    () => swap({ [SIGNATURE]: `${textIn(SIGNED, SIGNATURE)}\n` }),
    /spare whitespace/,
  ],
  [
    'bytes after the envelope',
    () => swap({ [SIGNATURE]: `${textIn(SIGNED, SIGNATURE)}{}` }),
    /signature\.dsse\.json: /,
  ],
  [
    'one more member in the envelope',
    () =>
      withEnvelope((envelope) => {
        Object.assign(envelope, { note: '' });
      }),
    /signature\.dsse\.json: /,
  ],
  ['an empty file as a signature', () => swap({ [SIGNATURE]: '' }), /signature\.dsse\.json: /],
  [
    'a list without one file',
    () =>
      signChanged(({ subject, predicate }) => {
        subject.pop();
        predicate.sizes.pop();
      }),
    /entry "[^"]+" is not in the signed list/,
  ],
  [
    'a list without the key',
    () =>
      signChanged(({ subject, predicate }) => {
        without(subject, 'publisher.key.json');
        without(predicate.sizes, 'publisher.key.json');
      }),
    /"publisher\.key\.json" is not in the signed list/,
  ],
  [
    'a list with one file more',
    () =>
      signChanged(({ subject }) => {
        subject.push({ name: 'zz', digest: { sha256: '0'.repeat(64) } });
      }),
    /the signed list has "zz"/,
  ],
  [
    'a list with a file twice',
    () =>
      signChanged(({ subject }) => {
        subject.push(...subject.slice(0, 1));
      }),
    /not in the form/,
  ],
  [
    'a list in another order',
    () =>
      signChanged(({ subject }) => {
        subject.reverse();
      }),
    /not in the form/,
  ],
  [
    'a list with another size',
    () =>
      signChanged(({ predicate }) => {
        predicate.sizes = predicate.sizes.map((each) => ({ ...each, bytes: 1 }));
      }),
    /not in the form/,
  ],
  [
    'a list of another kind',
    () =>
      signChanged((statement) => {
        Object.assign(statement, { predicateType: 'urn:palisade:receipt:v1' });
      }),
    /not in the form/,
  ],
  [
    'a list for another skill',
    () =>
      signChanged(({ predicate }) => {
        predicate.skill.id = 'acme.other';
      }),
    /with the id "acme\.other", expected "acme\.text"/,
  ],
  [
    'a list for another version',
    () =>
      signChanged(({ predicate }) => {
        predicate.skill.version = '9.0.0';
      }),
    /with the version "9\.0\.0"/,
  ],
  [
    'a list for another publisher',
    () =>
      signChanged(({ predicate }) => {
        predicate.skill.publisher = 'evil';
      }),
    /with the publisher "evil"/,
  ],
  [
    'a list for another name',
    () =>
      signChanged(({ predicate }) => {
        predicate.skill.name = 'Bank';
      }),
    /with the name "Bank"/,
  ],
  [
    'a list for nobody',
    () =>
      signChanged(({ predicate }) => {
        Object.assign(predicate, { skill: {} });
      }),
    /Cannot use predicate\.skill: it has no id/,
  ],
  [
    'a list with one more member',
    () =>
      signChanged((statement) => {
        Object.assign(statement, { note: 1 });
      }),
    /not in the form/,
  ],
  ['a list that is not canonical', () => signOver(` ${payloadOf(SIGNED)}`), /not in the form/],
  [
    'a list that is spelled otherwise',
    () => signOver(payloadOf(SIGNED).replace('acme.text', '\\u0061cme.text')),
    /not in the form/,
  ],
  [
    'a list with a member twice',
    () => signOver(payloadOf(SIGNED).replace('{"_type":', '{"_type":"","_type":')),
    /occurs twice/,
  ],
  ['a list and bytes behind it', () => signOver(`${payloadOf(SIGNED)}\n`), /not in the form/],
  ['no list at all', () => signOver('[]'), /Cannot use the file: it is a list, expected a table/],
];

function without<Item extends { name: string }>(list: Item[], name: string): void {
  list.splice(
    list.findIndex((item) => item.name === name),
    1,
  );
}

function flipped(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  return bytes.toString('base64');
}

describe('a signed package', () => {
  it('is opened with its signer when nothing was changed, though it was taken apart and put together again', () => {
    expect(swap({})).toEqual(SIGNED);
    expect(signOver(payloadOf(SIGNED))).toEqual(SIGNED);
    expect(signChanged(() => {})).toEqual(SIGNED);
    expect(withEnvelope(() => {})).toEqual(SIGNED);
    const { keyId, publicKey, createdAt } = KEY;
    expect(openPackage(SIGNED).signer).toEqual({ keyId, publicKey, createdAt });
  });

  it.each(REFUSED)('is refused with %s', (_, make, why) => {
    const bytes = make();
    expect(bytes).not.toEqual(SIGNED);
    expect(() => openPackage(bytes)).toThrow(
      expect.objectContaining({
        name: 'CodedError',
        code: 'skill/bad-signature',
        message: expect.stringMatching(why),
      }),
    );
  });

  it('has no signer once its signature was taken away', () => {
    expect(openPackage(swap({ [SIGNATURE]: null })).signer).toBeNull();
    expect(openPackage(swap({ [SIGNATURE]: null, 'publisher.key.json': null })).signer).toBeNull();
  });
});

describe('signPackage()', () => {
  it('gives the same bytes for the same package and key', () => {
    expect(signPackage(unsignedSample(), KEY)).toEqual(SIGNED);
  });

  it('replaces a signature, and leaves every other file as it was', () => {
    const again = signPackage(SIGNED, OTHER_KEY);
    expect(openPackage(again).signer?.keyId).toBe(OTHER_KEY.keyId);
    expect(signPackage(again, KEY)).toEqual(SIGNED);
    const files = [...readArchive(unsignedSample())];
    expect([...readArchive(SIGNED)]).toEqual(expect.arrayContaining(files));
    expect(readArchive(SIGNED).size).toBe(files.length + 2);
  });

  it('signs nothing that cannot be opened', () => {
    const broken = new Map(readArchive(unsignedSample()));
    broken.delete('text.wasm');
    expect(() => signPackage(writeArchive(broken), KEY)).toThrow(
      'the module "text.wasm" of its tool "words" is missing',
    );
  });
});
