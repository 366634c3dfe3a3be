import { askedAndGranted } from '../../../../operations/skill-document.ts';
import type { AskState, SkillGrant } from '../../../../skills/grant.ts';
import type { Manifest } from '../../../../skills/manifest/manifest.ts';
import type { Printer } from '../../printer.ts';

const MARKS = {
  open: ['yellow', '? '],
  granted: ['green', '✓ '],
  narrowed: ['yellow', '~ '],
  withheld: ['red', '✗ '],
} as const satisfies Record<AskState['stand'], readonly [string, string]>;
const QUOTAS = { wallMs: 'ms of wall clock', fuel: 'fuel', memoryBytes: 'bytes of memory' } as const;

/** Prints every capability in words with what became of it, or will, then the limits. */
export function printAsks(print: Printer, manifest: Manifest, grant: SkillGrant | null): void {
  const rows = askedAndGranted(manifest, grant);
  if (rows.length === 0) print.line('It asks for no capability: all that it can do is compute.');
  const width = Math.max(...rows.map(({ spelling }) => spelling.length), 0);
  for (const row of rows) {
    const [style, mark] = MARKS[row.stand];
    print.styled(style, mark, `${row.spelling.padEnd(width)}  ${row.sentence}${remarkOn(row)}`);
  }
  for (const key of manifest.asks.config ?? []) {
    if (grant !== null && !Object.hasOwn(grant.wasm.config ?? {}, key))
      print.styled('yellow', '! ', `config:${key} has no value; give one with --config ${key}=VALUE`);
  }
  print.line(`limits: ${limitsInWords(manifest, grant)}`);
}

type Row = ReturnType<typeof askedAndGranted>[number];

function remarkOn({ stand, granted, isReaching }: Row): string {
  if (!isReaching) return ' (cannot be withheld)';
  if (stand === 'narrowed') return ` (only ${granted.join(', ')})`;
  return stand === 'withheld' ? ' (withheld)' : '';
}

function limitsInWords({ quotas }: Manifest, grant: SkillGrant | null): string {
  const terms = (Object.keys(QUOTAS) as (keyof typeof QUOTAS)[]).flatMap((term) => {
    const [asked, granted] = [quotas[term], grant === null ? undefined : (grant.limits[term] ?? null)];
    if (granted === undefined || granted === asked) return asked === null ? [] : [`${asked} ${QUOTAS[term]}`];
    return [`${granted ?? 'no'} ${QUOTAS[term]} (asked: ${asked ?? 'none'})`];
  });
  return terms.join(', ') || 'those of the gateway';
}
