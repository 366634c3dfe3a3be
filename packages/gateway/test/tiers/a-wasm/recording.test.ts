import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import type { Tool } from '../../../src/core/tool.ts';
import { findRecording } from '../../../src/recordings/recordings.ts';
import { callTool, openTestGateway, PERMIT_ALL } from '../../fixture/gateway.ts';
import { ECHO, guest, wasmTool } from './guests.ts';

/** A call of a tool in a new gateway, with what its receipt says of its recording and what was kept. */
async function called(tool: Tool, before: (stateDir: string) => void = () => undefined) {
  const gateway = await openTestGateway({ policies: PERMIT_ALL, tools: [tool] });
  before(gateway.stateDir);
  const { callId, outcome, receipt } = await callTool(gateway, tool.id, { input: { a: 1 } });
  const { payload } = JSON.parse(receipt ?? '{"payload":"e30="}');
  const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString());
  const told: unknown = predicate?.execution?.isolation?.recording;
  return { outcome, told, kept: findRecording(gateway.store, callId) };
}

function optingOut(tool: Tool): Tool {
  const { executor } = tool;
  if (executor.kind !== 'wasm') throw new Error('it is no module');
  return { ...tool, executor: { kind: 'wasm', program: { ...executor.program, isRecorded: false } } };
}

const echo = () => wasmTool('test.echo', guest(ECHO));

describe('the recording of a call', () => {
  it('is kept, and the receipt has its digest', async () => {
    const { told, kept } = await called(echo());
    expect(told).toMatch(/^[0-9a-f]{64}$/);
    expect(kept?.recording).toMatchObject({ version: 2, input: '{"a":1}' });
  });

  it('is not kept of a tool that opts out, and the receipt says so', async () => {
    const { outcome, told, kept } = await called(optingOut(echo()));
    expect(outcome).toMatchObject({ status: 'ok', output: { a: 1 } });
    expect([told, kept]).toEqual(['none: the tool opts out', null]);
  });

  it('that cannot be saved costs neither the ending nor the receipt, which says that there is none', async () => {
    const breakRoom = (stateDir: string) => {
      const database = new Database(join(stateDir, 'palisade.db'));
      database.exec(
        `CREATE TRIGGER full BEFORE INSERT ON recorded_run BEGIN SELECT RAISE(ABORT, 'full'); END`,
      );
      database.close();
    };
    const { outcome, told, kept } = await called(echo(), breakRoom);
    expect(outcome).toMatchObject({ status: 'ok', output: { a: 1 } });
    expect([told, kept]).toEqual(['none: it could not be saved', null]);
  });
});
