import { canonicalize } from '@palisade/sdk';
import type { Json } from '../core/json.ts';
import type { Definition } from './definition.ts';

/** How what a server offers differs from what was accepted, by the names of tools. */
export type Difference = {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** The same tool in everything but its name. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
  readonly changed: readonly { readonly name: string; readonly fields: readonly string[] }[];
};

const FIELDS = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

export function differenceOf(before: readonly Definition[], now: readonly Definition[]): Difference {
  const [was, is] = [byName(before), byName(now)];
  const gone = before.filter(({ name }) => !is.has(name));
  const renamed: { from: string; to: string }[] = [];
  const added: string[] = [];
  for (const definition of now) {
    if (was.has(definition.name)) continue;
    const at = gone.findIndex((each) => fieldsThatDiffer(each, definition).length === 0);
    const [old] = at < 0 ? [] : gone.splice(at, 1);
    if (old === undefined) added.push(definition.name);
    else renamed.push({ from: old.name, to: definition.name });
  }
  const changed = now.flatMap((definition) => {
    const old = was.get(definition.name);
    const fields = old === undefined ? [] : fieldsThatDiffer(old, definition);
    return fields.length === 0 ? [] : [{ name: definition.name, fields }];
  });
  return { added, removed: gone.map(({ name }) => name), renamed, changed };
}

/** The difference in one line. */
export function inWords({ added, removed, renamed, changed }: Difference): string {
  const named: Readonly<Record<string, readonly string[]>> = {
    added,
    removed,
    renamed: renamed.map(({ from, to }) => `${from} to ${to}`),
    changed: changed.map(({ name, fields }) => `${name} (${fields.join(', ')})`),
  };
  const parts = Object.entries(named).flatMap(([what, names]) => some(what, names));
  return parts.length === 0 ? 'the same tools' : parts.join('; ');
}

const MOST_NAMED = 5;

function some(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return [`${what}: ${names.slice(0, MOST_NAMED).join(', ')}${more}`];
}

function byName(definitions: readonly Definition[]): ReadonlyMap<string, Definition> {
  return new Map(definitions.map((definition) => [definition.name, definition]));
}

function fieldsThatDiffer(a: Definition, b: Definition): string[] {
  return FIELDS.filter((field) => canonicalize(a[field] as Json) !== canonicalize(b[field] as Json));
}
