import { type KeyRing, parseKeyRing, verifyReceipt } from '@palisade/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { palisade } from '../../packages/gateway/test/doors/cli/palisade.ts';
import {
  type McpSetup,
  makeMcpSetup,
  mintToken,
  operate,
  type Serving,
  serve,
} from '../fixtures/mcp/setup.ts';
import { request } from '../fixtures/mcp/wire.ts';

/*
 * An agent and its operator. The agent sees the tools that are for it and no others. One of them needs a person's word: the
 * agent is told how to get it, the operator gives it from a terminal, and it is good for that very call, once.
 */

/** Echoes are for Ada with an approval; Eve has sleeps and nothing else. */
const POLICIES = `
@id("ada-echoes-when-approved")
forbid (principal == Agent::"ada", action == Action::"call", resource == Tool::"palisade.echo")
unless { context.approved };

@id("eve-sleeps")
forbid (principal == Agent::"eve", action == Action::"call", resource)
unless { resource == Tool::"palisade.sleep" };
`;

const ASKED = { message: 'wire 100 to Bob' };
const CHANGED = { message: 'wire 900 to Bob' };

type Told = {
  readonly status?: string;
  readonly approvalId?: string;
  readonly approveWith?: string;
  readonly callId?: string;
};
type Result = {
  readonly isError?: boolean;
  readonly structuredContent: Told;
  readonly _meta: { readonly 'dev.palisade/receipt': { readonly callId: string } };
};

let setup: McpSetup;
let serving: Serving;
let ada: string;
let eve: string;
let ring: KeyRing;

beforeAll(async () => {
  setup = makeMcpSetup({ policies: POLICIES });
  ada = await mintToken(setup, 'agent:ada');
  eve = await mintToken(setup, 'agent:eve');
  serving = await serve(setup);
  const read = await parseKeyRing((await palisade(['keys', 'export', '--state', setup.state])).out);
  if (!read.ok) throw new Error(read.why);
  ring = read.keys;
});

afterAll(async () => {
  await serving?.stop();
  setup?.remove();
});

async function toolsOf(token: string): Promise<readonly string[]> {
  const { result } = await request<{ tools: { name: string }[] }>(serving.url, token, 'tools/list');
  return (result?.tools ?? []).map(({ name }) => name);
}

async function echo(input: object, token = ada): Promise<Result> {
  const call = { name: 'palisade_echo', arguments: input };
  const { result, error } = await request<Result>(serving.url, token, 'tools/call', call);
  if (result === undefined) throw new Error(error?.message);
  return result;
}

async function receiptOf({ _meta }: Result): Promise<string> {
  const uri = `palisade://calls/${_meta['dev.palisade/receipt'].callId}/receipt`;
  const params = { name: uri, uri };
  const { result } = await request<{ contents: { text: string }[] }>(
    serving.url,
    ada,
    'resources/read',
    params,
  );
  return result?.contents[0]?.text ?? '';
}

describe('an agent behind a gateway', () => {
  test('sees the tools that are for it, and cannot call one that is not', async () => {
    const [forAda, forEve] = [await toolsOf(ada), await toolsOf(eve)];
    expect(forAda).toContain('palisade_echo');
    expect(forEve).toEqual(['palisade_sleep']);
    await expect(echo(ASKED, eve)).rejects.toThrow('Unknown tool: palisade.echo');
    const missing = { name: 'palisade_nothing', arguments: {} };
    const { error } = await request(serving.url, eve, 'tools/call', missing);
    expect(error?.message).toBe('Unknown tool: palisade.nothing');
  });

  test('asks, is approved by its operator, runs that very call once, and has a receipt of it', async () => {
    const first = await echo(ASKED);
    expect(first).toMatchObject({ isError: true, structuredContent: { status: 'approval_required' } });
    const { approvalId = '', approveWith } = first.structuredContent;
    expect(approveWith).toMatch(new RegExp(`^palisade approvals approve ${approvalId} --state /\\S+$`));

    // Nothing has run, and to ask again is no new question.
    const again = await echo(ASKED);
    expect(again.structuredContent).toMatchObject({ status: 'approval_required', approvalId });

    await operate(setup, 'approvals', 'approve', approvalId, '--as', 'user:grace');
    const changed = await echo(CHANGED);
    expect(changed.structuredContent).toMatchObject({ status: 'approval_required' });
    expect(changed.structuredContent.approvalId).not.toBe(approvalId);

    const ran = await echo(ASKED);
    expect(ran.isError ?? false).toBe(false);
    expect(ran.structuredContent).toEqual(ASKED);

    const report = await verifyReceipt(await receiptOf(ran), ring, { input: ASKED, output: ASKED });
    expect(report.checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(report.statement?.predicate.approval).toMatchObject({ id: approvalId, by: 'user:grace' });

    const spent = await echo(ASKED);
    expect(spent.structuredContent).toMatchObject({ status: 'approval_required' });
    expect(spent.structuredContent.approvalId).not.toBe(approvalId);
  });

  test('has a receipt of each refusal as well, which nobody else can read', async () => {
    const refused = await echo(CHANGED);
    const { callId } = refused._meta['dev.palisade/receipt'];
    const report = await verifyReceipt(await receiptOf(refused), ring, { input: CHANGED });
    expect(report.ok).toBe(true);
    expect(report.statement?.predicate.outcome).toEqual({
      status: 'refused',
      code: 'policy/approval-required',
    });
    const uri = `palisade://calls/${callId}/receipt`;
    const { error } = await request(serving.url, eve, 'resources/read', { name: uri, uri });
    expect(error?.message).toMatch(/not found/i);
  });
});
