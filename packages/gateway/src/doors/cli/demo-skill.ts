/** A skill from a folder to a call: packed, signed, refused while it waits, approved with what it asks for, called. */
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { documentOf, generateKey } from '../../attest/key-files.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Principal } from '../../core/principal.ts';
import type { Gateway, Opened } from '../../invoke/gateway.ts';
import { invoke } from '../../invoke/invoke.ts';
import { approveSkill } from '../../invoke/skills/approve.ts';
import { installSkill } from '../../invoke/skills/install.ts';
import { addTrust } from '../../invoke/skills/trust.ts';
import { parseCases, type SkillCase } from '../../skills/audit/cases.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { packSkill, signPackage } from '../../skills/package/pack.ts';
import { callOf } from './asked-call.ts';
import { collectFiles } from './skill/collect.ts';
import { manifestOf } from './skill/skill-folder.ts';
import type { Invocation } from './verb.ts';

const OPERATOR: Principal = { kind: 'user', name: 'olga' };
const AGENT: Principal = { kind: 'agent', name: 'ada' };
const TOLD_CHARS = 200;

export async function showSkill(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  folder: string,
): Promise<void> {
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
    '6. A skill comes in: packed and signed by its author, and trusted',
    `skill install ${manifest.id}`,
  );
  const { publisher, id } = manifest;
  await addTrust(gateway, { ...who, publisher, document: documentOf(key, null), expiresAtMs: null });
  const { skill } = await installSkill(gateway, { ...who, bytes, allowDowngrade: false, signal });
  tellAudit(invocation, skill);
  const call = `call ${id}.${tried.tool} --as agent:ada`;
  heading(invocation, '7. An agent calls it before anybody approved it', call);
  const refused = await callIt(invocation, gateway, `${id}.${tried.tool}`, tried);
  if (refused.outcome.status !== 'refused') throw unexpected('a skill in quarantine was called');
  print.styled('red', '  refused', `  ${refused.outcome.code}: ${refused.outcome.message}`);
  heading(invocation, '8. The operator approves those very bytes', `skill approve ${id}`);
  const grant = { withhold: [], limits: {}, config: {}, reason: 'the demo' };
  await approveSkill(gateway, { ...who, id, version: null, ...grant, acceptFindings: false, enable: true });
  const ended = await callIt(invocation, gateway, `${id}.${tried.tool}`, tried);
  if (ended.outcome.status !== 'ok') throw unexpected('the approved skill did not answer');
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
  if (tried === undefined) throw unexpected('the skill has no case that can be shown');
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

/** What is shown, and what somebody would type for it. */
export function heading({ print }: Invocation, text: string, command: string): void {
  print.line();
  print.styled('bold', text);
  print.line(`  $ palisade ${command}`);
}

export function unexpected(what: string): CodedError {
  return new CodedError('gateway/fault', `Cannot finish the demo: ${what}`);
}
