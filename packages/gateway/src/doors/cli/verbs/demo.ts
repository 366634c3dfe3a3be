import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseKeyRing, verifyReceipt } from '@palisade/sdk';
import { nodePrimitives } from '../../../attest/primitives.ts';
import { left } from '../../../budget/budget.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { verifyLive } from '../../../journal/verify.ts';
import { explain } from '../../../policy/explain.ts';
import { callOf } from '../asked-call.ts';
import { heading, showSkill, unexpected } from '../demo-skill.ts';
import { textOf } from '../input.ts';
import type { Invocation } from '../verb.ts';

/* A call made, its receipt verified, a refused call explained, a tampered receipt rejected: on real parts, in a moment. */

const AGENT = { kind: 'agent', name: 'ada' } as const;

export async function run(invocation: Invocation): Promise<number> {
  const { edge, print } = invocation;
  const stateDir = mkdtempSync(join(tmpdir(), 'palisade-demo-'));
  try {
    const gateway = await edge.openGateway({ stateDir, env: edge.env, version: edge.version });
    try {
      const receipt = await makeCall(invocation, gateway);
      await verifyIt(invocation, gateway, receipt);
      await refuseOne(invocation, gateway);
      await tamper(invocation, gateway, receipt);
      await verifyJournalToo(invocation, gateway);
      const folder = textOf(invocation, 'skill');
      if (folder !== undefined) await showSkill(invocation, gateway, folder);
    } finally {
      await gateway.close();
    }
    print.line();
    print.styled(
      'green',
      'The demo ended well.',
      ' Next: `palisade call palisade.echo`, `palisade --help`, README.md.',
    );
    if (print.json) print.document({ ok: true });
    return 0;
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function makeCall(invocation: Invocation, gateway: Opened<Gateway>): Promise<string> {
  const rawInput = '{"message":"hello, palisade"}';
  heading(invocation, '1. An agent calls a tool', `call palisade.echo --as agent:ada --input '${rawInput}'`);
  const ended = await invoke(
    gateway,
    demoCall(invocation, gateway, { tool: 'palisade.echo', rawInput }),
    invocation.signal,
  );
  if (ended.outcome.status !== 'ok' || ended.receipt === null) throw unexpected('the call did not end well');
  invocation.print.line(`  ${JSON.stringify(ended.outcome.output)}`);
  invocation.print.styled('green', '  ok', `  ${ended.callId}, authorised, paid, journaled and receipted`);
  return ended.receipt;
}

async function verifyIt({ print, ...rest }: Invocation, { keys }: Gateway, receipt: string): Promise<void> {
  heading(
    { print, ...rest },
    '2. A stranger verifies the receipt offline',
    'verify receipt.json --key keys.json',
  );
  const report = await verifyReceipt(receipt, await ringOf(keys.export()), {}, nodePrimitives);
  for (const { name, ok } of report.checks) print.styled(ok ? 'green' : 'red', ok ? '  ✓ ' : '  ✗ ', name);
  if (!report.ok) throw unexpected('the receipt did not verify');
}

async function refuseOne(invocation: Invocation, gateway: Opened<Gateway>): Promise<void> {
  const { print, edge } = invocation;
  const asked = { tool: 'palisade.sleep', rawInput: '{"ms":60000}' };
  heading(
    invocation,
    '3. A call that the policies refuse, explained',
    `call palisade.sleep --as agent:ada --input '${asked.rawInput}'`,
  );
  const ended = await invoke(gateway, demoCall(invocation, gateway, asked), invocation.signal);
  if (ended.outcome.status !== 'refused') throw unexpected('the call was not refused');
  print.styled('red', '  refused', `  ${ended.outcome.code}: ${ended.outcome.message}`);
  print.styled('cyan', '  → ', ended.outcome.remedy);
  const checked = await gateway.registry.check(demoCall(invocation, gateway, asked));
  if ('status' in checked) throw unexpected('the input was refused');
  const nowMs = edge.clock.nowMs();
  const budgetLeft = left(gateway.store, gateway.budgets, checked, nowMs);
  const { decidedBy, differences } = explain(gateway.policy, checked, { budgetLeft, approval: null, nowMs });
  for (const { id, file } of decidedBy) print.line(`  decided by "${id}" (${file})`);
  for (const sentence of differences.slice(0, 2)) print.line(`  ${sentence}`);
}

async function tamper(invocation: Invocation, { keys }: Gateway, receipt: string): Promise<void> {
  const { print } = invocation;
  heading(invocation, '4. Somebody changes one byte of the receipt', 'verify tampered.json --key keys.json');
  const { payload, ...rest } = JSON.parse(receipt) as { payload: string };
  const text = Buffer.from(payload, 'base64').toString('utf8').replace('agent:ada', 'agent:eve');
  const tampered = JSON.stringify({ payload: Buffer.from(text).toString('base64'), ...rest });
  const report = await verifyReceipt(tampered, await ringOf(keys.export()), {}, nodePrimitives);
  const failed = report.checks.find(({ ok }) => !ok);
  if (report.ok || failed === undefined) throw unexpected('the tampered receipt was accepted');
  print.styled('green', '  rejected', `  ${failed.name}: ${failed.detail}`);
}

async function verifyJournalToo(invocation: Invocation, gateway: Gateway): Promise<void> {
  heading(invocation, '5. The journal holds all of it, in one signed chain', 'journal verify');
  const { ok, records } = await verifyLive(gateway, await ringOf(gateway.keys.export()), nodePrimitives);
  if (!ok) throw unexpected('the journal did not verify');
  invocation.print.styled('green', '  verified', `  ${records} records, both calls among them`);
}

function demoCall({ edge }: Invocation, gateway: Opened<Gateway>, asked: { tool: string; rawInput: string }) {
  return callOf(edge, { ...asked, principal: AGENT, tenant: gateway.config.gateway.tenant, run: 'demo' });
}

async function ringOf(text: string) {
  const ring = await parseKeyRing(text, nodePrimitives);
  if (!ring.ok) throw unexpected(ring.why);
  return ring.keys;
}
