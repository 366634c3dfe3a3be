import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseKeyRing, verifyReceipt, webPrimitives } from '@palisade/sdk';
import { describe, expect, it } from 'vitest';
import { Keys } from '../../src/attest/keys.ts';
import { rotateKey } from '../../src/invoke/administer.ts';
import { systemClock } from '../../src/open.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import {
  bodyOf,
  callTool,
  GRACE,
  makeTool,
  NOON,
  openTestGateway,
  PERMIT_ALL,
  recordsOf,
  ringOf,
  type TestGateway,
  testClock,
} from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { openTestRecords, verified } from '../journal/sample.ts';
import { refusalOf } from '../store/sample.ts';

const keyFiles = (stateDir: string) => readdirSync(join(stateDir, 'keys')).sort();
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const signerOf = (receipt: string | null) => JSON.parse(receipt ?? '{}').signatures[0].keyid as string;

async function verifies(gateway: TestGateway, receipt: string | null): Promise<boolean> {
  return (await verifyReceipt(receipt ?? '', await ringOf(gateway), {}, webPrimitives)).ok;
}

describe('the first key', () => {
  it('is made once, however many processes found the state directory', async () => {
    const stateDir = tempDir();
    const program = await bundleProgram('call-many.ts');
    const children = ['ada', 'bob', 'cyd'].map((name) => new Child(program, [stateDir, name]));
    for (const child of children) expect(await child.line()).toBe('ready');
    expect(keyFiles(stateDir)).toHaveLength(2);
    for (const child of children) child.go();
    const receipts = await Promise.all(
      children.map(async (child) => JSON.parse(await child.line())[0].receipt),
    );
    expect(new Set(receipts.map(signerOf)).size).toBe(1);
  });

  it('lies where only its owner reads it, and its public document holds no secret', async () => {
    const { stateDir, keys } = await openTestRecords();
    const document = keys.currentId.replace('sha256:', '');
    expect(keyFiles(stateDir)).toEqual(['current.pem', `${document}.json`].sort());
    expect(modeOf(join(stateDir, 'keys'))).toBe('700');
    expect(modeOf(join(stateDir, 'keys', 'current.pem'))).toBe('600');
    const secret = readFileSync(join(stateDir, 'keys', 'current.pem'), 'utf8').split('\n')[2] ?? '';
    expect(secret.length).toBeGreaterThan(60);
    expect(keys.export()).not.toContain(secret.slice(-44));
  });

  it('is never replaced because it went missing', () => {
    const directory = tempDir();
    const keys = new Keys(directory);
    expect([keys.createFirst(NOON), keys.createFirst(NOON)]).toEqual([true, false]);
    rmSync(join(directory, 'current.pem'));
    expect(keys.createFirst(NOON)).toBe(false);
    expect(refusalOf(() => keys.sign('text/plain', 'x')).code).toBe('attest/missing-key');
  });

  it('is made anew after a crash that left it half written', async () => {
    const stateDir = tempDir();
    mkdirSync(join(stateDir, 'keys'), { mode: 0o700 });
    writeFileSync(join(stateDir, 'keys', 'current.pem.new'), 'created: 2026-', { mode: 0o600 });
    const gateway = await openTestGateway({ stateDir });
    expect(await verifies(gateway, (await callTool(gateway, 'palisade.echo')).receipt)).toBe(true);
    expect(keyFiles(stateDir)).toHaveLength(2);
  });

  it('gets its public document written when a crash left it without', async () => {
    const { stateDir } = await openTestRecords();
    const document = keyFiles(stateDir).find((name) => name.endsWith('.json')) ?? '';
    const text = readFileSync(join(stateDir, 'keys', document), 'utf8');
    rmSync(join(stateDir, 'keys', document));
    expect(new Keys(join(stateDir, 'keys')).export()).toBe(text);
  });
});

describe('rotate()', () => {
  it('lets old receipts verify, signs new ones by the new key, and forgets the old private key', async () => {
    const clock = testClock();
    const gateway = await openTestGateway({ clock });
    const before = await callTool(gateway, 'palisade.echo');
    const secret = readFileSync(join(gateway.stateDir, 'keys', 'current.pem'), 'utf8').split('\n')[2] ?? '';
    clock.add(1000);
    const { from, to } = rotateKey(gateway, GRACE, false);
    clock.add(1000);
    const after = await callTool(gateway, 'palisade.echo');
    expect([signerOf(before.receipt), signerOf(after.receipt)]).toEqual([from, to]);
    expect(from).not.toBe(to);
    expect([await verifies(gateway, before.receipt), await verifies(gateway, after.receipt)]).toEqual([
      true,
      true,
    ]);
    for (const name of keyFiles(gateway.stateDir)) {
      expect(readFileSync(join(gateway.stateDir, 'keys', name), 'utf8')).not.toContain(secret);
    }
    const record = recordsOf(gateway).find(({ kind }) => kind === 'key-rotated');
    expect(record?.principal).toBe('user:grace');
    expect(bodyOf(record)).toEqual({ from, to, lost: false });
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('is seen at once by another signer of the same process and of another', async () => {
    const gateway = await openTestGateway({ clock: systemClock });
    const program = await bundleProgram('call-many.ts');
    const child = new Child(program, [gateway.stateDir, 'bob']);
    expect(await child.line()).toBe('ready');
    const other = new Keys(join(gateway.stateDir, 'keys'));
    const { from, to } = rotateKey(gateway, GRACE, false);
    expect(other.currentId).toBe(to);
    child.go();
    const [ending] = JSON.parse(await child.line());
    expect(signerOf(ending.receipt)).toBe(to);
    expect(await verifies(gateway, ending.receipt)).toBe(true);
    expect(gateway.keys.list().map(({ keyId, isCurrent }) => [keyId, isCurrent])).toEqual([
      [from, false],
      [to, true],
    ]);
  });

  it('may be done again and again', async () => {
    const clock = testClock();
    const gateway = await openTestGateway({ clock });
    const receipts: (string | null)[] = [];
    for (let i = 0; i < 5; i++) {
      receipts.push((await callTool(gateway, 'palisade.echo')).receipt);
      rotateKey(gateway, GRACE, false);
      clock.add(1);
    }
    expect(await Promise.all(receipts.map((receipt) => verifies(gateway, receipt)))).toEqual(
      Array(5).fill(true),
    );
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });

  it('with a lost key starts a new one, and what the lost one signed still verifies', async () => {
    const gateway = await openTestGateway();
    const before = await callTool(gateway, 'palisade.echo');
    rmSync(join(gateway.stateDir, 'keys', 'current.pem'));
    expect(refusalOf(() => rotateKey(gateway, GRACE, false)).code).toBe('attest/missing-key');
    const { from } = rotateKey(gateway, GRACE, true);
    expect(from).toBeNull();
    const after = await callTool(gateway, 'palisade.echo');
    expect([await verifies(gateway, before.receipt), await verifies(gateway, after.receipt)]).toEqual([
      true,
      true,
    ]);
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });
});

describe('a signing key that cannot be used', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  const ways: readonly [string, (path: string) => void, RegExp][] = [
    ['is missing', (path) => rmSync(path), /no such file/],
    ['is readable by its group', (path) => chmodSync(path, 0o640), /its mode is 0640, expected 0600/],
    ['is readable by others', (path) => chmodSync(path, 0o644), /its mode is 0644, expected 0600/],
    ['is empty', (path) => writeFileSync(path, ''), /its first line is not "created: TIME"/],
    [
      'is garbage',
      (path) => writeFileSync(path, 'created: 2026-05-01T12:00:00.000Z\nnothing'),
      /Cannot sign with/,
    ],
    [
      'is of another kind',
      (path) => writeFileSync(path, `created: 2026-05-01T12:00:00.000Z\n${rsa}`),
      /it is rsa, expected ed25519/,
    ],
    [
      'is a directory',
      (path) => {
        rmSync(path);
        mkdirSync(path, { mode: 0o700 });
      },
      /Cannot sign with/,
    ],
  ];

  it.each(ways)('because it %s lets nothing run, until it is back', async (_, spoil, why) => {
    let runs = 0;
    const tool = makeTool('test.count', async () => ++runs);
    const gateway = await openTestGateway({ tools: [tool], policies: PERMIT_ALL });
    await callTool(gateway, 'test.count');
    const path = join(gateway.stateDir, 'keys', 'current.pem');
    const text = readFileSync(path);
    const records = recordsOf(gateway).length;
    spoil(path);
    const { outcome, receipt } = await callTool(gateway, 'test.count');
    expect(outcome).toMatchObject({
      status: 'refused',
      code: 'attest/missing-key',
      message: expect.stringMatching(why),
      remedy: expect.stringContaining('palisade keys rotate --lost'),
    });
    expect([runs, receipt, recordsOf(gateway).length]).toEqual([1, null, records]);

    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, text, { mode: 0o600 });
    expect((await callTool(gateway, 'test.count')).outcome.code).toBe('ok');
    expect(await verified(gateway)).toMatchObject({ ok: true });
  });
});

describe('export()', () => {
  it('is one document a line that any verifier reads', async () => {
    const records = await openTestRecords();
    rotateKey(records, GRACE, false);
    const text = records.keys.export();
    expect(text.split('\n')).toHaveLength(3);
    const ring = await parseKeyRing(text, webPrimitives);
    expect(ring.ok && ring.keys.keys.size).toBe(2);
  });

  it('names a public document that is damaged', async () => {
    const { keys, stateDir } = await openTestRecords({});
    const [name = ''] = keyFiles(stateDir).filter((file) => file.endsWith('.json'));
    writeFileSync(join(stateDir, 'keys', name), '{"half":');
    expect(refusalOf(() => keys.export())).toMatchObject({
      code: 'attest/missing-key',
      message: expect.stringContaining(name),
    });
  });
});
