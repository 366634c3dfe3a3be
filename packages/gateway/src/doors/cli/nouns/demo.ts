import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseKeyRing, verifyReceipt } from '@palisade/sdk';
import { documentOf, generateKey } from '../../../attest/key-files.ts';
import { nodePrimitives } from '../../../attest/primitives.ts';
import { left } from '../../../budget/budget.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { Principal } from '../../../core/principal.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { approveSkill } from '../../../invoke/skills/approve.ts';
import { installSkill } from '../../../invoke/skills/install.ts';
import { addTrust } from '../../../invoke/skills/trust.ts';
import { verifyLive } from '../../../journal/verify.ts';
import { explain } from '../../../policy/explain.ts';
import { parseCases, type SkillCase } from '../../../skills/audit/cases.ts';
import type { InstalledSkill } from '../../../skills/index/skill.ts';
import { packSkill, signPackage } from '../../../skills/package/pack.ts';
import { textOf } from '../input.ts';
import { callOf } from '../make-call.ts';
import { collectFiles, manifestOf } from '../skill/folder.ts';
import type { Invocation } from '../verb.ts';

/* A call, its verified receipt, a refused call explained, a tampered receipt rejected: on a real gateway, in seconds. */

const AGENT: Principal = { kind: 'agent', name: 'ada' };

export async function demo(invocation: Invocation): Promise<number> {
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
      'The demo succeeded.',
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
  if (ended.outcome.status !== 'ok' || ended.receipt === null) throw unexpected('the call did not succeed');
  invocation.print.line(`  ${JSON.stringify(ended.outcome.output)}`);
  invocation.print.styled('green', '  ok', `  ${ended.callId}, authorised, charged, recorded and receipted`);
  return ended.receipt;
}

async function verifyIt({ print, ...rest }: Invocation, { keys }: Gateway, receipt: string): Promise<void> {
  heading(
    { print, ...rest },
    '2. An auditor verifies the receipt offline',
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
  heading(invocation, '4. An attacker changes the receipt', 'verify tampered.json --key keys.json');
  const { payload, ...rest } = JSON.parse(receipt) as { payload: string };
  const text = Buffer.from(payload, 'base64').toString('utf8').replace('agent:ada', 'agent:eve');
  const tampered = JSON.stringify({ payload: Buffer.from(text).toString('base64'), ...rest });
  const report = await verifyReceipt(tampered, await ringOf(keys.export()), {}, nodePrimitives);
  const failed = report.checks.find(({ ok }) => !ok);
  if (report.ok || failed === undefined) throw unexpected('the tampered receipt was accepted');
  print.styled('green', '  rejected', `  ${failed.name}: ${failed.detail}`);
}

async function verifyJournalToo(invocation: Invocation, gateway: Gateway): Promise<void> {
  heading(invocation, '5. The journal has all of it, in one signed chain', 'journal verify');
  const { ok, records } = await verifyLive(gateway, await ringOf(gateway.keys.export()), nodePrimitives);
  if (!ok) throw unexpected('the journal did not verify');
  invocation.print.styled('green', '  verified', `  ${records} records, including both calls`);
}

function demoCall({ edge }: Invocation, gateway: Opened<Gateway>, asked: { tool: string; rawInput: string }) {
  return callOf(edge, { ...asked, principal: AGENT, tenant: gateway.config.gateway.tenant, run: 'demo' });
}

async function ringOf(text: string) {
  const ring = await parseKeyRing(text, nodePrimitives);
  if (!ring.ok) throw unexpected(ring.why);
  return ring.keys;
}

/** A skill from a folder to a call: packed, signed, refused while in quarantine, approved with what it requests, called. */

const OPERATOR: Principal = { kind: 'user', name: 'olga' };
const TOLD_CHARS = 200;

async function showSkill(invocation: Invocation, gateway: Opened<Gateway>, folder: string): Promise<void> {
  const { print, edge, signal } = invocation;
  const path = realpathSync.native(resolve(edge.cwd, folder));
  const manifest = manifestOf(path);
  const files = collectFiles(path, manifest);
  const tried = firstCase(parseCases(files, manifest));
  const who = { by: OPERATOR, tenant: gateway.config.gateway.tenant };
  const key = generateKey(edge.clock.nowMs());
  const bytes = signPackage(packSkill(files, { palisade: edge.version }), key);
  heading(
    invocation,
    '6. A skill is installed: packed and signed by its author, whose key is trusted',
    `skill install ${manifest.id}`,
  );
  const { publisher, id } = manifest;
  await addTrust(gateway, { ...who, publisher, document: documentOf(key, null), expiresAtMs: null });
  const { skill } = await installSkill(gateway, { ...who, bytes, allowDowngrade: false, signal });
  tellAudit(invocation, skill);
  const call = `call ${id}.${tried.tool} --as agent:ada`;
  heading(invocation, '7. An agent calls it before it is approved', call);
  const refused = await callIt(invocation, gateway, `${id}.${tried.tool}`, tried);
  if (refused.outcome.status !== 'refused') throw unexpected('a skill in quarantine was called');
  print.styled('red', '  refused', `  ${refused.outcome.code}: ${refused.outcome.message}`);
  heading(invocation, '8. The operator approves these exact bytes', `skill approve ${id}`);
  const grant = { withhold: [], limits: {}, config: {}, reason: 'the demo' };
  await approveSkill(gateway, { ...who, id, version: null, ...grant, acceptFindings: false, enable: true });
  const ended = await callIt(invocation, gateway, `${id}.${tried.tool}`, tried);
  if (ended.outcome.status !== 'ok') throw unexpected('the approved skill failed');
  print.line(`  ${JSON.stringify(ended.outcome.output).slice(0, TOLD_CHARS)}`);
  print.styled('green', '  ok', `  ${ended.callId}, ${ended.usage.fuel} fuel, in a sandbox of its own`);
}

function tellAudit({ print }: Invocation, { state, report, id, version }: InstalledSkill): void {
  if (report?.verdict !== 'passed') throw unexpected(`the audit of ${id} failed`);
  const { passed = 0 } = report.cases ?? {};
  print.styled('green', '  audited', `  ${report.checks} checks, ${passed} test cases passed`);
  print.styled('yellow', `  ${state}`, `  ${id}@${version} waits for an approval`);
}

function firstCase(parsed: ReturnType<typeof parseCases>): SkillCase {
  const tried = parsed.ok
    ? parsed.value.find(({ needs, expect }) => needs.length === 0 && 'output' in expect)
    : undefined;
  if (tried === undefined) throw unexpected('the skill has no test case that can be shown');
  return tried;
}

function callIt({ edge, signal }: Invocation, gateway: Opened<Gateway>, tool: string, tried: SkillCase) {
  const { tenant } = gateway.config.gateway;
  return invoke(
    gateway,
    callOf(edge, { principal: AGENT, tenant, tool, rawInput: tried.inputText, run: 'demo' }),
    signal,
  );
}

/** What is shown, and the command for it. */
function heading({ print }: Invocation, text: string, command: string): void {
  print.line();
  print.styled('bold', text);
  print.line(`  $ palisade ${command}`);
}

function unexpected(what: string): CodedError {
  return new CodedError('gateway/fault', `Cannot finish the demo: ${what}`);
}
