import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { webPrimitives } from '@palisade/sdk';
import Database from 'libsql';
import { onTestFinished } from 'vitest';
import { readEnvironment } from '../../src/config/environment.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { Json } from '../../src/core/json.ts';
import type { Opened, Records } from '../../src/invoke/gateway.ts';
import type { Draft } from '../../src/journal/journal.ts';
import { type LiveReport, verifyLive } from '../../src/journal/verify.ts';
import { openRecords } from '../../src/open.ts';
import { ringOf, testClock } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';

export type TestRecords = Opened<Records> & { readonly stateDir: string };

type Wishes = {
  readonly stateDir?: string;
  readonly clock?: Clock;
  readonly toml?: string;
  readonly env?: Readonly<Record<string, string>>;
};

/** The rooms that keep the record, on a state directory of their own, closed with the test. */
export async function openTestRecords(wishes: Wishes = {}): Promise<TestRecords> {
  const { stateDir = tempDir(), clock = testClock(), toml, env = {} } = wishes;
  if (toml !== undefined) writeFileSync(join(stateDir, 'palisade.toml'), toml);
  const records = await openRecords({ stateDir, env: readEnvironment(env), version: '0.0.0', clock });
  let isOpen = true;
  const close = async () => {
    if (isOpen) await records.close();
    isOpen = false;
  };
  onTestFinished(close);
  return { ...records, stateDir, close };
}

/** A record that is fine in all that a test does not name. */
export function draft(wishes: Partial<Draft> = {}): Draft {
  return { kind: 'note', call: null, principal: null, tool: null, tenant: null, body: {}, ...wishes };
}

/** Adds so many records in one transaction; each differs in call, principal, tool and kind. */
export function appendMany({ store, journal }: Records, count: number, body: Json = ''): void {
  store.transact((tx) => {
    for (let i = 0; i < count; i++) {
      const kind = i % 3 === 0 ? 'note' : 'remark';
      const [call, principal, tool] = [`call_${i}`, `agent:a${i % 5}`, `tool.t${i % 7}`];
      journal.append(tx, draft({ kind, call, principal, tool, tenant: 'default', body: { i, body } }));
    }
  });
}

/** What a person sees who verifies the journal as it lies there. */
export async function verified(records: Records): Promise<LiveReport> {
  return verifyLive(records, await ringOf(records), webPrimitives);
}

export type RawDatabase = Database.Database;

/** Changes the database behind the back of the gateway. */
export function tamper(stateDir: string, act: (db: RawDatabase) => void): void {
  const db = new Database(join(stateDir, 'palisade.db'));
  try {
    act(db);
  } finally {
    db.close();
  }
}
