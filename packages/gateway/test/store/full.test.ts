import { join } from 'node:path';
import { CODES, webPrimitives } from '@palisade/sdk';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { verifyLive } from '../../src/journal/verify.ts';
import { systemClock } from '../../src/open.ts';
import { bundleProgram, Child } from '../fixture/child.ts';
import { callTool, openTestGateway, recordsOf, ringOf } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';

/** Room for what SQLite shares between processes (32 KiB), not for the pages of one more record. */
const BLOCKS_FOR_NO_RECORD = 64;
/** Room for hardly anything. */
const BLOCKS_FOR_NOTHING = 1;

async function foundedState(): Promise<{ stateDir: string; records: number }> {
  const gateway = await openTestGateway({ clock: systemClock });
  await callTool(gateway, 'palisade.echo');
  const records = recordsOf(gateway).length;
  await gateway.close();
  const db = new Database(join(gateway.stateDir, 'palisade.db'));
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return { stateDir: gateway.stateDir, records };
}

describe('a disk that is full', () => {
  it('refuses the call with store/full, writes nothing, and leaves a journal that verifies', async () => {
    const { stateDir, records } = await foundedState();
    const program = await bundleProgram('call-many.ts');
    const child = new Child(program, [stateDir, 'ada'], { maxFileBlocks: BLOCKS_FOR_NO_RECORD });
    expect(await child.line()).toBe('ready');
    child.go();
    const [ending] = JSON.parse(await child.line());
    expect(ending).toMatchObject({ status: 'refused', code: 'store/full', receipt: null });
    expect(ending.remedy).toBe(CODES['store/full'].remedy);
    await child.ended();

    const gateway = await openTestGateway({ stateDir, clock: systemClock });
    expect(recordsOf(gateway)).toHaveLength(records);
    expect(await verifyLive(gateway, await ringOf(gateway), webPrimitives)).toMatchObject({ ok: true });
    expect((await callTool(gateway, 'palisade.echo')).outcome.code).toBe('ok');
  });

  it('refuses to create a state directory, which can be created once there is space', async () => {
    const stateDir = tempDir();
    const program = await bundleProgram('call-many.ts');
    const child = new Child(program, [stateDir, 'ada'], { maxFileBlocks: BLOCKS_FOR_NOTHING });
    expect(await child.line()).toBe('store/full');
    await child.ended();
    const gateway = await openTestGateway({ stateDir, clock: systemClock });
    expect((await callTool(gateway, 'palisade.echo')).outcome.code).toBe('ok');
  });
});
