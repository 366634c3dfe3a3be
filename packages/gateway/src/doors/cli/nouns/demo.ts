import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseKeyRing, verifyReceipt } from '@palisade/sdk';
import { documentOf, generateKey } from '../../../attest/key-files.ts';
import { nodePrimitives } from '../../../attest/primitives.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { Principal } from '../../../core/principal.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { invoke } from '../../../invoke/invoke.ts';
import { verifyLive } from '../../../journal/verify.ts';
import { parseCases, type SkillCase } from '../../../skills/audit/cases.ts';
import { packSkill, signPackage } from '../../../skills/package/pack.ts';
import { textOf } from '../input.ts';
import { callOf } from '../make-call.ts';
import { operateOn } from '../operate.ts';
import { collectFiles, manifestOf } from '../skill/folder.ts';
import type { Invocation } from '../verb.ts';

/* A call, its verified receipt, a refused call explained, a tampered receipt rejected: on a real gateway, in seconds. */

const AGENT: Principal = { kind: 'agent', name: 'ada' };
const SHOWN_CHARS = 200;

/** The command, and the gateway of a temporary state directory. */
type Stage = { readonly invocation: Invocation; readonly gateway: Opened<Gateway> };

export async function demo(invocation: Invocation): Promise<number> {
  const { edge, print } = invocation;
  const stateDir = mkdtempSync(join(tmpdir(), 'palisade-demo-'));
  try {
    const gateway = await edge.openGateway({ stateDir, env: edge.env, version: edge.version });
    const stage = { invocation, gateway };
    try {
      const receipt = await showCall(stage);
      await showVerification(stage, receipt);
      await showRefusal(stage);
      await showTampering(stage, receipt);
      await showJournal(stage);
      const folder = textOf(invocation, 'skill');
      if (folder !== undefined) await showSkill(stage, folder);
    } finally {
      await gateway.close();
    }
    print.line();
    const next = ' Next: `palisade call palisade.echo`, `palisade --help`, README.md.';
    print.styled('green', 'The demo succeeded.', next);
    if (print.json) print.document({ ok: true });
    return 0;
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function showCall(stage: Stage): Promise<string> {
  const { print } = stage.invocation;
  const rawInput = '{"message":"hello, palisade"}';
  heading(stage, '1. An agent calls a tool', `call palisade.echo --as agent:ada --input '${rawInput}'`);
  const ended = await call(stage, 'palisade.echo', rawInput);
  if (ended.outcome.status !== 'ok' || ended.receipt === null) throw unexpected('the call did not succeed');
  print.line(`  ${JSON.stringify(ended.outcome.output)}`);
  print.styled('green', '  ok', `  ${ended.callId}, authorised, charged, recorded and receipted`);
  return ended.receipt;
}

async function showVerification(stage: Stage, receipt: string): Promise<void> {
  const { print } = stage.invocation;
  heading(stage, '2. An auditor verifies the receipt offline', 'verify receipt.json --key keys.json');
  const report = await verifyReceipt(receipt, await ringOf(stage), {}, nodePrimitives);
  for (const { name, ok } of report.checks) print.styled(ok ? 'green' : 'red', ok ? '  ✓ ' : '  ✗ ', name);
  if (!report.ok) throw unexpected('the receipt did not verify');
}

async function showRefusal(stage: Stage): Promise<void> {
  const { invocation, gateway } = stage;
  const { print } = invocation;
  const [tool, rawInput] = ['palisade.sleep', '{"ms":60000}'];
  const command = `call ${tool} --as agent:ada --input '${rawInput}'`;
  heading(stage, '3. A call that the policies refuse, explained', command);
  const { outcome } = await call(stage, tool, rawInput);
  if (outcome.status !== 'refused') throw unexpected('the call was not refused');
  print.styled('red', '  refused', `  ${outcome.code}: ${outcome.message}`);
  print.styled('cyan', '  → ', outcome.remedy);
  const input = { tool, input: JSON.parse(rawInput), principal: 'agent:ada' };
  const { decidedBy, differences } = await operateOn(invocation, gateway, 'explainCall', input);
  for (const { id, file } of decidedBy) print.line(`  decided by "${id}" (${file})`);
  for (const sentence of differences.slice(0, 2)) print.line(`  ${sentence}`);
}

async function showTampering(stage: Stage, receipt: string): Promise<void> {
  heading(stage, '4. An attacker changes the receipt', 'verify tampered.json --key keys.json');
  const { payload, ...rest } = JSON.parse(receipt) as { payload: string };
  const text = Buffer.from(payload, 'base64').toString('utf8').replace('agent:ada', 'agent:eve');
  const tampered = JSON.stringify({ payload: Buffer.from(text).toString('base64'), ...rest });
  const report = await verifyReceipt(tampered, await ringOf(stage), {}, nodePrimitives);
  const failed = report.checks.find(({ ok }) => !ok);
  if (report.ok || failed === undefined) throw unexpected('the tampered receipt was accepted');
  stage.invocation.print.styled('green', '  rejected', `  ${failed.name}: ${failed.detail}`);
}

async function showJournal(stage: Stage): Promise<void> {
  heading(stage, '5. The journal has all of it, in one signed chain', 'journal verify');
  const { ok, records } = await verifyLive(stage.gateway, await ringOf(stage), nodePrimitives);
  if (!ok) throw unexpected('the journal did not verify');
  stage.invocation.print.styled('green', '  verified', `  ${records} records, including both calls`);
}

/** A skill from a folder to a call: packed, signed, refused while in quarantine, approved with what it requests, called. */
async function showSkill(stage: Stage, folder: string): Promise<void> {
  const { invocation, gateway } = stage;
  const { print, edge } = invocation;
  const path = realpathSync.native(resolve(edge.cwd, folder));
  const manifest = manifestOf(path);
  const files = collectFiles(path, manifest);
  const { tool, inputText } = firstCase(parseCases(files, manifest));
  const key = generateKey(edge.clock.nowMs());
  const bytes = signPackage(packSkill(files, { palisade: edge.version }), key);
  const { publisher, id } = manifest;
  const operator = { ...invocation, flags: { as: 'user:olga' } };
  const installing = '6. A skill is installed: packed and signed by its author, whose key is trusted';
  heading(stage, installing, `skill install ${id}`);
  await operateOn(operator, gateway, 'trustKey', { publisher, key: documentOf(key, null) });
  const { skill } = await operateOn(operator, gateway, 'installSkill', { package: bytes });
  const { report, state } = skill;
  if (report?.verdict !== 'passed') throw unexpected(`the audit of ${id} failed`);
  const { passed = 0 } = report.cases ?? {};
  print.styled('green', '  audited', `  ${report.checks} checks, ${passed} test cases passed`);
  print.styled('yellow', `  ${state}`, `  ${id}@${skill.version} waits for an approval`);
  heading(stage, '7. An agent calls it before it is approved', `call ${id}.${tool} --as agent:ada`);
  const refused = await call(stage, `${id}.${tool}`, inputText);
  if (refused.outcome.status !== 'refused') throw unexpected('a skill in quarantine was called');
  print.styled('red', '  refused', `  ${refused.outcome.code}: ${refused.outcome.message}`);
  heading(stage, '8. The operator approves these exact bytes', `skill approve ${id}`);
  await operateOn(operator, gateway, 'approveSkill', { id, reason: 'the demo' });
  const { outcome, callId, usage } = await call(stage, `${id}.${tool}`, inputText);
  if (outcome.status !== 'ok') throw unexpected('the approved skill failed');
  print.line(`  ${JSON.stringify(outcome.output).slice(0, SHOWN_CHARS)}`);
  print.styled('green', '  ok', `  ${callId}, ${usage.fuel} fuel, in a sandbox of its own`);
}

function firstCase(parsed: ReturnType<typeof parseCases>): SkillCase {
  const shown = parsed.ok
    ? parsed.value.find(({ needs, expect }) => needs.length === 0 && 'output' in expect)
    : undefined;
  if (shown === undefined) throw unexpected('the skill has no test case that can be shown');
  return shown;
}

function call({ invocation, gateway }: Stage, tool: string, rawInput: string) {
  const made = callOf(invocation, gateway, { principal: AGENT, tool, rawInput, run: 'demo' });
  return invoke(gateway, made, invocation.signal);
}

async function ringOf({ gateway }: Stage) {
  const ring = await parseKeyRing(gateway.keys.export(), nodePrimitives);
  if (!ring.ok) throw unexpected(ring.why);
  return ring.keys;
}

/** What is shown, and the command for it. */
function heading({ invocation: { print } }: Stage, text: string, command: string): void {
  print.heading(text);
  print.line(`  $ palisade ${command}`);
}

function unexpected(what: string): CodedError {
  return new CodedError('gateway/fault', `Cannot finish the demo: ${what}`);
}
