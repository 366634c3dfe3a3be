import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import { callTool, openTestGateway } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';
import { holdLock, insertNote, notesIn, openNotes, refusalOf } from './sample.ts';

const PAGE_BYTES = 4096;

describe('a database that another process holds', () => {
  it('ends a write with store/locked, leaves reading alone, and takes the next write', async () => {
    const directory = tempDir();
    const store = openNotes(directory, { busyTimeoutMs: 5 });
    const lock = holdLock(directory);
    expect(refusalOf(() => store.transact((tx) => tx.run(insertNote, { text: 'a' })))).toMatchObject({
      code: 'store/locked',
      message: 'Cannot write the database: another process holds the database (SQLITE_BUSY)',
    });
    const works = ['b', 'c'].map((text) => store.commit((tx) => tx.run(insertNote, { text })));
    const settled = await Promise.allSettled(works);
    expect(settled.map((one) => one.status === 'rejected' && one.reason.code)).toEqual([
      'store/locked',
      'store/locked',
    ]);
    expect(notesIn(store)).toEqual([]);
    lock.exec('ROLLBACK');
    store.transact((tx) => tx.run(insertNote, { text: 'd' }));
    expect(notesIn(store)).toEqual(['d']);
  });

  it('refuses a call without running it and without a receipt, and the next call is fine', async () => {
    const gateway = await openTestGateway({ toml: '[store]\nbusy_timeout_ms = 5\n' });
    const lock = holdLock(gateway.stateDir);
    const { outcome, receipt } = await callTool(gateway, 'palisade.echo');
    expect(outcome).toMatchObject({ status: 'refused', code: 'store/locked' });
    expect(receipt).toBeNull();
    lock.exec('ROLLBACK');
    expect((await callTool(gateway, 'palisade.echo')).outcome.code).toBe('ok');
  });
});

describe('a damaged database', () => {
  /** Puts what is still in the write-ahead log into the database itself, so that all is in one file. */
  function foldLog(directory: string): void {
    const db = new Database(join(directory, 'palisade.db'));
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
  }

  /** A state directory that was closed in good order. */
  async function closedState(): Promise<{ stateDir: string; path: string }> {
    const gateway = await openTestGateway();
    for (let i = 0; i < 20; i++) await callTool(gateway, 'palisade.echo', { input: { i } });
    await gateway.close();
    foldLog(gateway.stateDir);
    return { stateDir: gateway.stateDir, path: join(gateway.stateDir, 'palisade.db') };
  }

  /** How the gateway ends that opens it and makes a call. */
  async function codeOfCall(stateDir: string): Promise<string> {
    try {
      const gateway = await openTestGateway({ stateDir });
      return (await callTool(gateway, 'palisade.echo')).outcome.code;
    } catch (error) {
      if (error instanceof CodedError) return error.code;
      throw error;
    }
  }

  it('is no obstacle before it is damaged', async () => {
    expect(await codeOfCall((await closedState()).stateDir)).toBe('ok');
  });

  it.each([
    ['its header is overwritten', (size: number) => [0, Math.min(100, size)]],
    ['every page but the first is overwritten', (size: number) => [PAGE_BYTES, size - PAGE_BYTES]],
  ] as const)('runs nothing when %s', async (_, rangeOf) => {
    const { stateDir, path } = await closedState();
    const [at = 0, length = 0] = rangeOf(statSync(path).size);
    const fd = openSync(path, 'r+');
    writeSync(fd, Buffer.alloc(length, 0x5a), 0, length, at);
    closeSync(fd);
    expect(await codeOfCall(stateDir)).toBe('store/corrupt');
  });

  it('runs nothing when the head of its journal is gone', async () => {
    const { stateDir, path } = await closedState();
    const db = new Database(path);
    db.exec('DELETE FROM journal_head');
    db.close();
    expect(await codeOfCall(stateDir)).toBe('store/corrupt');
  });

  it('runs nothing when its end is cut off', async () => {
    const { stateDir, path } = await closedState();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, 3 * PAGE_BYTES));
    expect(await codeOfCall(stateDir)).toBe('store/corrupt');
  });
});
