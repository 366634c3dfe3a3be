import { isoTime } from '../../core/clock.ts';
import type { UpstreamView } from '../../invoke/upstreams.ts';
import type { Definition } from '../../upstreams/definition.ts';
import { inWords } from '../../upstreams/difference.ts';
import type { Printer } from './printer.ts';

const DESCRIPTION_CHARS = 100;

/** Says that there are none, and where one would be named. */
export function tellNone(print: Printer): void {
  print.line('No upstream server is configured.');
  print.note(
    '→',
    'cyan',
    ' name one as [[upstream]] in palisade.toml, or wrap one: palisade mcp wrap --help',
  );
}

/** A server for people: what it is, what was accepted, what it offers instead, and what gives reason to doubt. */
export function printUpstream(print: Printer, view: UpstreamView): void {
  const { name: called, rule, state, pin, reason, difference, findings } = view;
  print.styled('bold', called, `  ${state}`);
  const rows: [string, string][] =
    rule === null
      ? [['command', 'known to the client that wraps it']]
      : [
          ['command', rule.command.join(' ')],
          ['sandbox', `tier ${rule.tier}; reaches ${rule.allowHosts.join(', ') || 'no host'}`],
          ['risk', rule.risk],
        ];
  if (reason !== null) rows.push(['why', reason]);
  if (pin !== null) {
    rows.push(['sha256', pin.accepted.digest]);
    rows.push(['accepted', `${isoTime(pin.acceptedAtMs)} by ${pin.acceptedBy}`]);
  }
  for (const [name, text] of rows) print.line(`${name.padEnd(11)}${text}`);
  printTools(print, 'accepted tools', pin?.accepted.definitions ?? []);
  if (pin?.offered != null && difference !== null) {
    print.line();
    print.line(`offers     ${inWords(difference)}`);
    const accepted = new Map(pin.accepted.definitions.map((each) => [each.name, each]));
    const news = pin.offered.definitions.filter(
      (each) => JSON.stringify(accepted.get(each.name)) !== JSON.stringify(each),
    );
    printTools(print, 'what is new in them', news);
  }
  if (findings.length === 0) return;
  print.line();
  print.styled('bold', 'read these with care', `  ${findings.length}`);
  print.table(
    ['CHECK', 'WHERE', 'WHAT'],
    findings.map(({ check, where, what }) => [check, where, what]),
  );
}

function printTools(print: Printer, title: string, definitions: readonly Definition[]): void {
  if (definitions.length === 0) return;
  print.line();
  print.styled('bold', title);
  print.table(
    ['TOOL', 'SAYS OF ITSELF', 'DESCRIPTION'],
    definitions.map(({ name, annotations, description }) => [
      name,
      Object.entries(annotations)
        .flatMap(([hint, is]) => (is ? [hint.replace('Hint', '')] : []))
        .join(', ') || '-',
      description.length > DESCRIPTION_CHARS ? `${description.slice(0, DESCRIPTION_CHARS)}…` : description,
    ]),
  );
}
