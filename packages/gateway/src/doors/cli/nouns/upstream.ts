import { CODES } from '@palisade/sdk';
import { CodedError } from '../../../core/coded-error.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { offerOf, showUpstream } from '../../../invoke/upstreams.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { inWords } from '../../../upstreams/difference.ts';
import { confirm, type Question, requireAnswerable } from '../ask.ts';
import { textOf } from '../input.ts';
import { actAs } from '../opened.ts';
import { operateOn, operationVerb } from '../operate.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

const DESCRIPTION_CHARS = 100;

type UpstreamDocument = ResultOf<'getUpstream'>;
type ToolDefinition = UpstreamDocument['definitions'][number];

export const list = operationVerb(
  'listUpstreams',
  () => ({}),
  ({ upstreams }, { print }) => {
    if (upstreams.length === 0) return printNone(print);
    print.table(
      ['NAME', 'STATE', 'TIER', 'RISK', 'TOOLS', 'FINDINGS', 'WHY'],
      upstreams.map(({ name, state, tier, risk, tools, findings, reason }) => [
        ...[name, state, tier, risk, tools, findings, reason],
      ]),
    );
    if (upstreams.some(({ state }) => state === 'unmet'))
      print.next('connect to those that are unmet: palisade upstream refresh');
  },
);

export const show = operationVerb(
  'getUpstream',
  ({ args: [name] }) => ({ name }),
  (upstream, { print }) => {
    const { name, state } = upstream;
    printUpstream(print, upstream);
    if (state === 'unmet') print.next(`palisade upstream refresh ${name}`);
    if (state === 'quarantined') print.next(`palisade upstream approve ${name}`);
  },
);

/** Gives the status of a failure where a server could not be reached, or is in quarantine. */
export async function refresh(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  return actAs(invocation, async (gateway) => {
    const [named] = args;
    const names = named === undefined ? gateway.upstreams.rules.map(({ name }) => name) : [named];
    const upstreams: Awaited<ReturnType<typeof refreshOne>>[] = [];
    for (const name of names) upstreams.push(await refreshOne(invocation, gateway, name));
    print.result({ upstreams }, () => {
      if (upstreams.length === 0) printNone(print);
      for (const { name, state, why } of upstreams) {
        print.note(state, why === null ? 'green' : 'red', `  ${name}${why === null ? '' : `: ${why}`}`);
        if (state === 'quarantined') print.next(`palisade upstream show ${name}`);
      }
    });
    if (upstreams.some(({ state }) => state === 'failed')) return CODES['tier/upstream-failed'].exitStatus;
    const isHeld = upstreams.some(({ state }) => state === 'quarantined');
    return isHeld ? CODES['upstream/quarantined'].exitStatus : 0;
  });
}

async function refreshOne(invocation: Invocation, gateway: Opened<Gateway>, name: string) {
  try {
    const { state, reason } = await operateOn(invocation, gateway, 'refreshUpstream', { name });
    return { name, state, why: reason };
  } catch (error) {
    const isOfServer =
      error instanceof CodedError && error.code !== 'upstream/unknown' && error.code !== 'door/wrong-usage';
    if (!isOfServer) throw error;
    return { name, state: 'failed', why: error.message };
  }
}

/** Accepts what a server offers now, after all of it was shown. */
export async function approve(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [name = ''] = args;
  requireAnswerable(invocation, questionOf(name));
  return actAs(invocation, async (gateway) => {
    const digest = textOf(invocation, 'digest');
    // What --digest names is accepted as it was shown before; otherwise what is offered at this moment.
    const { rule } = showUpstream(gateway, name);
    if (digest === undefined && rule !== null)
      await operateOn(invocation, gateway, 'refreshUpstream', { name });
    const { set } = offerOf(name, showUpstream(gateway, name).pin, rule);
    if (!print.json) printUpstream(print, await operateOn(invocation, gateway, 'getUpstream', { name }));
    await confirm(invocation, questionOf(name));
    const input = { name, digest: digest ?? set.digest };
    const accepted = await operateOn(invocation, gateway, 'approveUpstream', input);
    return print.result(accepted, () =>
      print.note('accepted', 'green', `  ${name}: ${set.definitions.length} tools`),
    );
  });
}

function questionOf(name: string): Question {
  return {
    act: 'accept the upstream server',
    question: 'Type the name of the server to accept what it offers',
    answer: name,
    needs: ['yes'],
  };
}

function printNone(print: Printer): void {
  print.line('No upstream server is configured.');
  print.next('add [[upstream]] to palisade.toml, or wrap a server: palisade mcp wrap --help');
}

function printUpstream(print: Printer, upstream: UpstreamDocument): void {
  const { command, reason, digest, definitions, offered, difference, findings } = upstream;
  print.styled('bold', upstream.name, `  ${upstream.state}`);
  if (command === null) print.facts([['command', 'known to the client that wraps it']]);
  else
    print.facts([
      ['command', command.join(' ')],
      ['sandbox', `tier ${upstream.tier}; reaches ${upstream.allowHosts.join(', ') || 'no host'}`],
      ['risk', String(upstream.risk)],
    ]);
  if (reason !== null) print.facts([['why', reason]]);
  if (digest !== null)
    print.facts([
      ['sha256', digest],
      ['accepted', `${upstream.acceptedAt} by ${upstream.acceptedBy}`],
    ]);
  printTools(print, 'accepted tools', definitions);
  if (offered !== null && difference !== null) {
    print.line();
    print.line(`offers     ${inWords(difference)}`);
    const accepted = new Map(definitions.map((each) => [each.name, JSON.stringify(each)]));
    const isNew = (each: ToolDefinition) => accepted.get(each.name) !== JSON.stringify(each);
    printTools(print, 'new or changed tools', offered.filter(isNew));
  }
  if (findings.length === 0) return;
  print.heading('read these with care', `  ${findings.length}`);
  print.table(
    ['CHECK', 'WHERE', 'WHAT'],
    findings.map(({ check, where, what }) => [check, where, what]),
  );
}

function printTools(print: Printer, title: string, definitions: readonly ToolDefinition[]): void {
  if (definitions.length === 0) return;
  print.heading(title);
  print.table(
    ['TOOL', 'HINTS OF THE SERVER', 'DESCRIPTION'],
    definitions.map(({ name, annotations, description }) => {
      const hints = Object.entries(annotations).flatMap(([hint, is]) =>
        is ? [hint.replace('Hint', '')] : [],
      );
      const isLong = description.length > DESCRIPTION_CHARS;
      const shown = isLong ? `${description.slice(0, DESCRIPTION_CHARS)}…` : description;
      return [name, hints.join(', ') || '-', shown];
    }),
  );
}
