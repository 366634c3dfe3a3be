import { isoTime } from '../../../core/clock.ts';
import { digestBytes } from '../../../core/digest.ts';
import { inert } from '../../../core/hostile-text.ts';
import { isJsonObject } from '../../../core/json.ts';
import { formatPrincipal } from '../../../core/principal.ts';
import type { JsonSchema } from '../../../core/tool.ts';
import { ALLOWED_FILE, allowPolicy, withAllowed } from '../../../policy/allow-policy.ts';
import { confirm } from '../ask.ts';
import { choiceOf, listOf, pageOf, parsedOf, principalOf, textOf, wrongUsage } from '../input.ts';
import { operate, operationVerb } from '../operate.ts';
import type { Invocation } from '../verb.ts';

const SHOWN_INPUT_CHARS = 40;
const STATES = ['pending', 'approved', 'denied', 'used', 'expired'] as const;

export const list = operationVerb(
  'listApprovals',
  (invocation) => ({ ...pageOf(invocation), state: choiceOf(invocation, 'only', STATES) }),
  ({ approvals, cursor }, { print }) => {
    print.table(
      ['ID', 'STATE', 'WHO', 'TOOL', 'INPUT', 'EXPIRES'],
      approvals.map(({ id, state, principal, tool, inputText, expiresAtMs }) => [
        ...[id, state, principal, tool, shortInput(inputText), isoTime(expiresAtMs)],
      ]),
      'There are no approval requests.',
    );
    print.more('palisade approvals list --cursor', cursor);
  },
);

function shortInput(text: string): string {
  if (text === '') return '-';
  return text.length > SHOWN_INPUT_CHARS ? `${text.slice(0, SHOWN_INPUT_CHARS)}…` : text;
}

export const show = operationVerb(
  'getApproval',
  ({ args: [id] }) => ({ id }),
  (approval, { print }) => {
    const { id, state, decidedBy, note } = approval;
    print.styled('bold', id, `  ${state}`);
    print.line(`who      ${approval.principal} (tenant ${approval.tenant})`);
    print.line(`tool     ${approval.tool} (risk ${approval.risk})`);
    if (approval.askedTool !== null) print.line(`about    ${inert(approval.askedTool.description)}`);
    print.line(`input    ${approval.inputText || `no longer stored (sha256 ${approval.inputDigest})`}`);
    print.line(`policies ${approval.policies.join(', ') || 'none'}`);
    print.line(`asked    ${isoTime(approval.askedAtMs)}, expires ${isoTime(approval.expiresAtMs)}`);
    if (decidedBy !== null)
      print.line(`decided  ${decidedBy} at ${isoTime(approval.decidedAtMs ?? 0)}${note ? `: ${note}` : ''}`);
    if (approval.lasts !== 'call')
      print.line(`for      every identical call${approval.lasts === 'run' ? ` of run ${approval.run}` : ''}`);
    if (state === 'pending')
      print.next(`palisade approvals approve ${id}   or   palisade approvals deny ${id}`);
  },
);

export const approve = decide('approved');
export const deny = decide('denied');

function decide(verdict: 'approved' | 'denied') {
  return operationVerb(
    'decideApproval',
    (invocation) => ({
      id: invocation.args[0],
      verdict,
      note: textOf(invocation, 'note'),
      ...lastingOf(invocation),
    }),
    ({ id, tool, principal, lasts, expiresAtMs }, { print }) => {
      print.note(verdict, verdict === 'approved' ? 'green' : 'yellow', `  ${id}  ${tool} for ${principal}`);
      if (verdict === 'denied') return;
      const until = isoTime(expiresAtMs);
      print.next(
        lasts === 'call'
          ? 'repeat the identical call; it now runs once'
          : `identical calls run until ${until}; withdraw it with \`palisade approvals deny ${id}\``,
      );
    },
  );
}

/**
 * `palisade approvals allow`: writes a policy that permits what a request asks for until a time, after the operator has
 * read it. It changes the policy set, so that open requests are void and have to be asked again.
 */
export async function allow(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  const request = await operate(invocation, 'getApproval', { id: invocation.args[0] });
  if (request.inputText === '' || digestBytes(request.inputText) !== request.inputDigest)
    throw wrongUsage(
      `Cannot allow "${request.id}": its input is ${request.inputText === '' ? 'no longer stored' : 'shown without a secret'}, expected the whole input`,
      'Approve the call itself, or write the policy by hand; docs/policy.md has examples.',
    );
  const inputSchema = request.askedTool?.inputSchema ?? (await toolOf(invocation, request.tool)).inputSchema;
  const free = listOf(invocation, 'any');
  requireFields(request.inputText, inputSchema, free);
  const nowMs = edge.clock.nowMs();
  const seconds = parsedOf(invocation, 'for', readPeriod, 'a time of up to 24h such as 15m or 1h') ?? 3_600;
  const by = formatPrincipal(principalOf(invocation));
  const untilMs = nowMs + seconds * 1_000;
  const policy = allowPolicy({ request, inputSchema, free, by, nowMs, untilMs });
  if (!print.json) await print.exact(policy);
  const question = `Type "allow" to add this policy until ${isoTime(untilMs)}`;
  await confirm(invocation, { act: 'allow it', question, answer: 'allow', needs: ['yes'] });
  await addPolicy(invocation, policy, nowMs);
  const { verdict } = await operate(invocation, 'explainCall', {
    ...{ tool: request.tool, principal: request.principal, input: JSON.parse(request.inputText) },
  });
  print.result({ policy, file: ALLOWED_FILE, until: isoTime(untilMs), verdict }, () => {
    print.note('allowed', 'green', `  ${request.tool} for ${request.principal} until ${isoTime(untilMs)}`);
    if (verdict !== 'allow')
      print.note(
        '!',
        'yellow',
        ' another policy still decides otherwise here: see `palisade policy explain`. A policy that demands an approval is met by `palisade approvals approve ID --for 1h`.',
      );
    print.next(`take it back by removing it from policies/${ALLOWED_FILE}`);
  });
  return 0;
}

async function addPolicy(invocation: Invocation, policy: string, nowMs: number): Promise<void> {
  const { files, filesDigest } = await operate(invocation, 'getPolicies', {});
  const text = withAllowed(files[ALLOWED_FILE] ?? '', policy, nowMs);
  const replaced = { files: { ...files, [ALLOWED_FILE]: text }, ifDigest: filesDigest };
  await operate(invocation, 'replacePolicies', replaced);
}

function toolOf(invocation: Invocation, id: string) {
  return operate(invocation, 'getTool', { id });
}

function requireFields(inputText: string, { properties }: JsonSchema, free: readonly string[]): void {
  const known = Object.keys(isJsonObject(properties ?? null) ? (properties as object) : {});
  const unknown = free.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw wrongUsage(
    `Cannot use --any "${unknown}": the tool declares no such field, expected one of ${known.join(', ') || 'none'} of ${inputText.slice(0, SHOWN_INPUT_CHARS)}`,
  );
}

/** What --for says: `run`, or minutes or hours. */
function lastingOf(invocation: Invocation): object {
  const read = (raw: string) => (raw === 'run' ? { lasts: 'run' } : lastingTime(raw));
  return parsedOf(invocation, 'for', read, '"run", or a time of up to 24h such as 15m or 1h') ?? {};
}

function lastingTime(raw: string): { readonly lasts: 'time'; readonly seconds: number } | null {
  const seconds = readPeriod(raw);
  return seconds === null ? null : { lasts: 'time', seconds };
}

/** Minutes or hours in seconds; null for what is neither, or more than a day. */
function readPeriod(raw: string): number | null {
  const [, digits = '', unit] = /^([1-9][0-9]{0,3})([mh])$/.exec(raw) ?? [];
  const seconds = Number(digits) * (unit === 'h' ? 3_600 : 60);
  return seconds >= 60 && seconds <= 86_400 ? seconds : null;
}
