import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import { callTool, kindsOf, openTestGateway, PERMIT_ALL } from '../../fixture/gateway.ts';
import { ECHO, guest, wasmTool } from './guests.ts';

const TWO = { type: 'object', properties: { n: { type: 'integer', maximum: 2 } }, required: ['n'] } as const;
const ANY = { type: 'object' } as const;

async function call(input: Json, schemas: { inputSchema: object; outputSchema: object }) {
  const tool = { ...wasmTool('test.echo', guest(ECHO)), ...schemas } as ReturnType<typeof wasmTool>;
  const gateway = await openTestGateway({ policies: PERMIT_ALL, tools: [tool] });
  const { outcome, callId } = await callTool(gateway, 'test.echo', { input });
  return { outcome, kinds: kindsOf(gateway, callId) };
}

describe('the schemas of a module', () => {
  it('let through what fits both', async () => {
    const { outcome } = await call({ n: 2 }, { inputSchema: TWO, outputSchema: TWO });
    expect(outcome).toMatchObject({ status: 'ok', output: { n: 2 } });
  });

  it('refuse an input that does not fit, and nothing runs', async () => {
    const { outcome, kinds } = await call({ n: 3 }, { inputSchema: TWO, outputSchema: ANY });
    expect(outcome).toMatchObject({ status: 'refused', code: 'registry/invalid-input' });
    expect(kinds).toEqual(['refused']);
  });

  it.each<Json>([{ n: 3 }, { n: '2' }, {}])('call no success what a module returns as %j', async (input) => {
    const { outcome, kinds } = await call(input, { inputSchema: ANY, outputSchema: TWO });
    expect(outcome).toMatchObject({
      ...{ status: 'failed', code: 'tier/invalid-output', output: input },
      message: expect.stringContaining('Cannot accept the output of test.echo'),
    });
    expect(kinds).toEqual(['intent', 'ended']);
  });
});
