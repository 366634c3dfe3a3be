import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { quote } from '../../../core/hostile-text.ts';
import { configBefore } from '../../../invoke/skills/approve.ts';
import type { ChangeEvent } from '../../../invoke/skills/change.ts';
import { requireSkill } from '../../../invoke/skills/skill-acts.ts';
import { chooseVersion } from '../../../operations/choose-version.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { askedAndGranted, signerState } from '../../../operations/skill-document.ts';
import { type Narrowing, narrowGrant, type SkillGrant } from '../../../skills/grant.ts';
import { versionsOf } from '../../../skills/index/read.ts';
import type { InstalledSkill } from '../../../skills/index/skill.ts';
import { nextState } from '../../../skills/lifecycle.ts';
import { reachOf } from '../../../skills/reach.ts';
import { confirm, type Question, requireAnswerable } from '../ask.ts';
import { listOf, pairsOf, textOf, wrongUsage } from '../input.ts';
import { actAs } from '../opened.ts';
import { operateOn, operationVerb } from '../operate.ts';
import { counted, type Printer } from '../printer.ts';
import { limitsOf, timeOf } from '../quantities.ts';
import { parseReference } from '../skill/package-file.ts';
import {
  findingsOf,
  printAsks,
  printFindings,
  printReach,
  signerOf,
  summaryOfReport,
} from '../skill/print-skill.ts';
import type { Invocation, VerbRun } from '../verb.ts';
import {
  addAgentPolicy,
  agentPolicyOf,
  allowedAgentsOf,
  printAgentPolicy,
  printAllowed,
} from './skill-allow.ts';

const MOST_WITHHELD = 256;

/** Approves one version with one grant, after all that is granted was shown. */
export async function approve(invocation: Invocation): Promise<number> {
  const { args, print, flags } = invocation;
  const named = parseReference(args[0] ?? '');
  const narrowing = narrowingOf(invocation);
  const agents = allowedAgentsOf(invocation, 'allow');
  requireAnswerable(invocation, approvalQuestion(named.id, 0));
  return actAs(invocation, async (gateway) => {
    // What would be granted is shown before it is approved, so it is read here.
    const skill = requireSkill(gateway.store, { ...named, version: named.version ?? null }, ['quarantined']);
    const { id, version, artifact } = skill;
    nextState(skill.state, 'approve', skill);
    const warnings = requirePassed(skill);
    const before = configBefore(gateway.store, skill);
    const config = { ...before.kept, ...narrowing.config };
    const grant = narrowGrant(skill.manifest, { ...narrowing, config });
    const keyState = signerState(gateway.store, skill, gateway.clock.nowMs());
    printOffer(print, skill, grant, signerOf({ ...skill, keyState }));
    const policy = agents === null ? null : agentPolicyOf(invocation, skill, grant, agents);
    if (agents !== null) printAgentPolicy(print, policy);
    printConfig(print, before, narrowing.config);
    await confirm(invocation, approvalQuestion(id, warnings));
    const approved = await operateOn(invocation, gateway, 'approveSkill', {
      ...narrowing,
      config,
      id,
      version,
      reason: textOf(invocation, 'reason'),
      // The caller typed the id below the warnings, or gave --accept-findings.
      acceptFindings: warnings > 0,
      enable: flags['no-enable'] !== true,
      asShown: { artifact, changedAt: isoTime(skill.changedAtMs) },
    });
    const isAllowed = policy !== null && approved.reviewersMissing === 0;
    if (isAllowed) await addAgentPolicy(invocation, gateway, policy);
    const shown = agents === null ? approved : { ...approved, policy: isAllowed ? policy : null };
    return print.result(shown, () => {
      printApproved(print, approved);
      if (isAllowed) printAllowed(print, id);
      else if (policy !== null)
        print.next(`once all have approved it: palisade skill allow ${id}@${version}`);
    });
  });
}

/** No one is asked about a skill that cannot be approved. Gives the number of warnings to accept. */
function requirePassed({ id, version, report }: InstalledSkill): number {
  if (report?.verdict === 'passed') return findingsOf(report, 'warning').length;
  const is = report === null ? 'it was not audited' : `its audit ${summaryOfReport(report)}`;
  const message = `Cannot approve ${id}@${version}: ${is}, expected an audit that passed`;
  throw new CodedError('skill/audit-failed', message);
}

function approvalQuestion(id: string, warnings: number): Question {
  const despite = warnings === 0 ? '' : ` with its ${counted(warnings, 'warning')}`;
  return {
    act: 'approve the skill',
    question: `Type the id of the skill to approve it${despite}`,
    answer: id,
    needs: warnings === 0 ? ['yes', 'reason'] : ['yes', 'reason', 'accept-findings'],
  };
}

function printOffer(print: Printer, skill: InstalledSkill, grant: SkillGrant, signer: string): void {
  const { id, version, name, artifact, manifest, report } = skill;
  print.styled('bold', `${id}@${version}`, `  ${name}`);
  print.line(`sha256     ${artifact}`);
  print.line(`signed by  ${signer}`);
  print.line(`audit      ${report === null ? 'not yet' : summaryOfReport(report)}`);
  if (report !== null) printFindings(print, { findings: findingsOf(report, 'warning') });
  print.heading('What it requests, and what of it will be granted');
  printAsks(print, { capabilities: askedAndGranted(manifest, grant), quotas: manifest.quotas, grant });
  print.heading('What its tools can do with that');
  printReach(
    print,
    manifest.tools.map((tool) => ({ ...tool, reach: reachOf(tool, grant, report?.modules) })),
  );
  print.line();
}

/** What becomes of the values of the version before. */
function printConfig(
  print: Printer,
  { from, kept, dropped }: ReturnType<typeof configBefore>,
  given: Narrowing['config'],
): void {
  for (const [key, value] of Object.entries(kept)) {
    const now = given[key];
    const was = `config:${key} is kept from ${from}: ${quote(value)}`;
    const replaced = `config:${key} was ${quote(value)} in ${from}, and is ${quote(now ?? '')}`;
    print.styled('dim', now === undefined ? was : replaced);
  }
  for (const key of dropped)
    print.styled('yellow', '! ', `config:${key} of ${from} is no longer asked for; its value is dropped`);
}

function printApproved(print: Printer, approved: ResultOf<'approveSkill'>): void {
  const { id, version, state, approvedBy, reviewersMissing } = approved;
  if (reviewersMissing > 0) {
    const more = reviewersMissing === 1 ? 'one more reviewer' : `${reviewersMissing} more reviewers`;
    print.note('agreed', 'yellow', `  ${id}@${version} waits for ${more}; so far ${approvedBy.join(', ')}`);
    print.next(`each approves the same grant: palisade skill approve ${id}@${version} --as user:NAME`);
    return;
  }
  print.note('approved', 'green', `  ${id}@${version} by ${approvedBy.join(', ')}; it is ${state}`);
  print.next(state === 'active' ? 'palisade tools list' : `palisade skill enable ${id}@${version}`);
}

/** What the flags of an approval withhold, and the values that they give; whether they fit is for the grant to check. */
export function narrowingOf(invocation: Invocation): Narrowing {
  const withhold = listOf(invocation, 'withhold');
  if (withhold.length > MOST_WITHHELD)
    throw wrongUsage(
      `Cannot use --withhold ${withhold.length} times: expected at most ${MOST_WITHHELD} times`,
    );
  const wallMs = timeOf(invocation, 'timeout');
  const limits = { ...limitsOf(invocation), ...(wallMs === undefined ? {} : { wallMs }) };
  return { withhold, limits, config: pairsOf(invocation, 'config', 'KEY=VALUE') };
}

type Change = {
  readonly style: 'green' | 'yellow' | 'red';
  /** What the skill is afterwards. */
  readonly done: string;
  /** What cannot be undone, and so is confirmed first; left out: it can be undone. */
  readonly warning?: string;
  /** What to run next. */
  readonly next?: (reference: string) => string;
};

const CHANGES: Readonly<Record<ChangeEvent, Change>> = {
  quarantine: {
    style: 'yellow',
    done: 'quarantined',
    next: (skill) => `to let it run again: palisade skill approve ${skill}`,
  },
  enable: { style: 'green', done: 'enabled' },
  disable: {
    style: 'yellow',
    done: 'disabled',
    next: (skill) => `to enable it again: palisade skill enable ${skill}`,
  },
  revoke: {
    style: 'red',
    done: 'revoked',
    warning: 'These exact bytes never run again, and running calls are ended. This cannot be undone.',
  },
  remove: {
    style: 'yellow',
    done: 'removed',
    warning: 'The package and its grant are deleted; the journal keeps what was done.',
  },
};

export const quarantine: VerbRun = (invocation) => change(invocation, 'quarantine');
export const enable: VerbRun = (invocation) => change(invocation, 'enable');
export const disable: VerbRun = (invocation) => change(invocation, 'disable');
export const revoke: VerbRun = (invocation) => change(invocation, 'revoke');
export const remove: VerbRun = (invocation) => change(invocation, 'remove');

/** Takes a skill one step through its life; a step that cannot be undone is confirmed first. */
async function change(invocation: Invocation, event: ChangeEvent): Promise<number> {
  const { args, print } = invocation;
  const { id: named, version: chosen = null } = parseReference(args[0] ?? '');
  const { style, done, warning, next } = CHANGES[event];
  if (warning !== undefined) requireAnswerable(invocation, questionOf(event, named));
  return actAs(invocation, async (gateway) => {
    const reference = { id: named, version: chosen };
    const { id, version, state, artifact } = chooseVersion(gateway.store, reference, event);
    // No one is asked about a step that cannot be taken.
    nextState(state, event, { id, version });
    // Boundary: a skill that is revoked by its id has no version left that could be enabled.
    const revocable = versionsOf(gateway.store, id).filter((each) => each.state !== 'revoked');
    const all = event === 'revoke' && chosen === null ? revocable.map((each) => each.version) : [version];
    if (warning !== undefined) {
      print.styled('bold', `${id}@${version}`, `  ${state}  sha256 ${artifact}`);
      print.styled('yellow', '! ', warning);
      if (all.length > 1) print.styled('yellow', '! ', `It applies to all versions: ${all.join(', ')}.`);
      await confirm(invocation, questionOf(event, id));
    }
    const reason = textOf(invocation, 'reason');
    // The version that was shown, whatever the newest one is by now.
    const input = { id, version: all.length > 1 ? undefined : version, reason };
    const skill = await operateOn(invocation, gateway, `${event}Skill`, input);
    return print.result(skill, () => {
      const changed = all.map((each) => `${id}@${each}`).join(', ');
      print.note(done, style, `  ${changed}${reason === undefined ? '' : `: ${reason}`}`);
      if (next !== undefined) print.next(next(`${id}@${version}`));
      if ('left' in skill) printLeft(print, id, skill.left as ResultOf<'removeSkill'>['left']);
    });
  });
}

/** What a removed skill leaves, and the command that deletes it. */
function printLeft(print: Printer, id: string, left: ResultOf<'removeSkill'>['left']): void {
  for (const { tenant, keys, bytes } of left?.storage ?? []) {
    print.note('!', 'yellow', ` It leaves ${counted(keys, 'key')} with ${bytes} bytes of tenant ${tenant}.`);
    print.next(`palisade storage delete ${id} --all --tenant ${tenant}`);
  }
  for (const name of left?.secrets ?? []) {
    print.note('!', 'yellow', ` It leaves the secret ${name}.`);
    print.next(`palisade secrets rm ${name} --scope skill:${id}`);
  }
}

function questionOf(event: string, id: string): Question {
  return {
    act: `${event} the skill`,
    question: `Type the id of the skill to ${event} it`,
    answer: id,
    needs: ['yes'],
  };
}

/** Goes back to the version that was active before. */
export const rollback = operationVerb(
  'rollbackSkill',
  (invocation) => {
    const [raw = ''] = invocation.args;
    const { id, version } = parseReference(raw);
    if (version === undefined) return { id, reason: textOf(invocation, 'reason') };
    throw wrongUsage(
      `Cannot roll back to "${raw}": it names a version, expected the id alone; use \`skill enable\` for a version`,
    );
  },
  ({ from, to }, { args: [id], print }) =>
    print.note('rolled back', 'green', `  ${id} from ${from ?? 'nothing'} to ${to}`),
);
