import { quote } from '../../core/hostile-text.ts';
import { anyText, list, object } from '../../core/json-shape.ts';
import { accept, reject } from '../../core/result.ts';
import { parsePrefix } from '../../core/storage-key.ts';
import type { StorageGrant } from '../../core/wasm.ts';
import { type Checked, listIn, tableIn, textsIn } from '../manifest/checked.ts';
import { table, texts, within } from '../manifest/key-rows.ts';
import { misfitIn } from '../manifest/texts.table.ts';
import { type AskRow, type Capability, type CheckContext, report, WILD_HINT } from './capability.ts';

const PREFIXES = object({ read: list(anyText), write: list(anyText) });

/** Keys below prefixes in the space of the tenant and the skill. */
export const storage: Capability = {
  kind: 'storage',
  isReaching: true,
  manifestKey: 'filesystem',
  keys: within(table('filesystem', 'The storage of the skill, by prefixes of keys.'), [
    texts('read_roots', 'storage-root', ['notes/'], 'What it reads.'),
    texts('write_roots', 'storage-root', ['notes/'], 'What it writes; it need not be what it reads.'),
  ]),
  check: (asks, context) => {
    for (const name of ['read_roots', 'write_roots'])
      checkRoots(textsIn(tableIn(asks, 'filesystem'), name) ?? [], ['filesystem', name], context);
  },
  readAsks: (asks) => {
    const roots = tableIn(asks, 'filesystem');
    return { storage: { read: prefixesIn(roots, 'read_roots'), write: prefixesIn(roots, 'write_roots') } };
  },
  shapes: { asks: { storage: PREFIXES }, grants: { storage: list(PREFIXES) } },

  describe: (asks) => describePrefixes(asks.storage),
  withholdings: ({ storage: { read, write } }) => [
    ...(read.length + write.length > 0 ? ['storage'] : []),
    ...(write.length > 0 ? ['storage:write'] : []),
  ],
  grantAll: ({ storage: { read, write } }) => ({
    storage: read.length + write.length > 0 ? [{ read, write }] : [],
  }),
  withhold: (grants, word) => ({ storage: grants.storage.map((each) => without(each, word)) }),
  covering: (word, left, { storage: asked }) => {
    const [, prefix] = /^storage=(.*)$/s.exec(word) ?? [];
    if (prefix === undefined) return null;
    const stillIn = (use: 'read' | 'write') =>
      asked[use].includes(prefix)
        ? coveringPrefix(
            prefix,
            left.storage.flatMap((each) => each[use]),
          )
        : null;
    const cover = stillIn('read') ?? stillIn('write');
    return cover === null ? null : `storage=${cover}`;
  },
  usable: (grants, imports) => {
    const reads = imports.has('storage_get') || imports.has('storage_list');
    const writes = imports.has('storage_put') || imports.has('storage_delete');
    return {
      storage: grants.storage.map(({ read, write }) => ({
        read: reads ? read : [],
        write: writes ? write : [],
      })),
    };
  },
  openOnly: (grants) => ({
    storage: grants.storage.filter(({ read, write }) => read.length > 0 || write.length > 0),
  }),
  terms: (grants) => [
    ...grants.storage.flatMap(({ read }) => read.map((prefix) => `storage:read=${prefix}`)),
    ...grants.storage.flatMap(({ write }) => write.map((prefix) => `storage:write=${prefix}`)),
  ],

  form: 'storage=PREFIX[:ro]',
  sentence: 'Storage at and below a prefix, as in `storage=notes/`; with `:ro` read-only.',
  parseGrant: (value) => {
    const [raw = '', mode, ...more] = value.split(':');
    if (more.length > 0 || (mode !== undefined && mode !== 'ro'))
      return reject({ is: `"${mode}" follows its prefix`, expected: '"ro" or nothing' });
    const parsed = parsePrefix(raw);
    if (!parsed.ok) {
      const empty = { is: 'its prefix is empty', expected: 'the beginning of keys, or "/" for all of them' };
      return reject(misfitIn('storage-root', raw) ?? empty);
    }
    const granted = { read: [raw], write: mode === 'ro' ? [] : [raw] };
    return accept({
      what: `storage ${parsed.value}/`,
      addTo: (grants) => ({ storage: [...grants.storage, granted] }),
    });
  },
  spellGrants: (grants) =>
    grants.storage.map(({ read, write }) => `storage=${read.join()}${write.length === 0 ? ':ro' : ''}`),
};

/** The whole storage has one spelling from here on. */
function prefixesIn(roots: Checked, name: string): readonly string[] {
  return listIn(roots, name).map((root) => (root === '' ? '/' : root));
}

function without({ read, write }: StorageGrant, word: string): StorageGrant {
  if (word === 'storage') return { read: [], write: [] };
  if (word === 'storage:write') return { read, write: [] };
  const left = (prefixes: readonly string[]) => prefixes.filter((prefix) => word !== `storage=${prefix}`);
  return { read: left(read), write: left(write) };
}

function describePrefixes({ read, write }: StorageGrant): readonly AskRow[] {
  return [...new Set([...read, ...write])].map((prefix) => {
    const [isRead, isWritten] = [read.includes(prefix), write.includes(prefix)];
    const uses = isRead && isWritten ? 'reads and writes' : isRead ? 'reads' : 'writes';
    const isAll = prefix === '' || prefix === '/';
    return {
      spelling: `storage=${prefix}`,
      sentence: `${uses} ${isAll ? 'everything in its storage' : `what is stored at ${prefix}`}`,
      terms: [
        ...(isRead ? [`storage:read=${prefix}`] : []),
        ...(isWritten ? [`storage:write=${prefix}`] : []),
      ],
    };
  });
}

/** The prefix among those that are left that contains this one, or means the same; null: none. */
function coveringPrefix(prefix: string, left: readonly string[]): string | null {
  const inner = bare(prefix);
  return left.find((other) => bare(other) === '' || `${inner}/`.startsWith(`${bare(other)}/`)) ?? null;
}

function bare(prefix: string): string {
  return prefix.replace(/^\/+|\/+$/g, '');
}

function checkRoots(roots: readonly (string | null)[], path: readonly string[], context: CheckContext): void {
  const seen = new Set<string>();
  for (const [i, root] of roots.entries()) {
    const parsed = root === null ? null : parsePrefix(root === '' ? '/' : root);
    if (parsed === null || !parsed.ok) continue;
    if (parsed.value === '' && !context.mayBeWild) {
      const is = `${quote(root ?? '')} means the whole storage`;
      report(context, [...path, i], { is, expected: 'the beginnings of keys', hint: WILD_HINT });
    }
    if (seen.has(parsed.value)) {
      const is = `${quote(root ?? '')} means the same as one before it`;
      report(context, [...path, i], { is, expected: 'each once' });
    }
    seen.add(parsed.value);
  }
}
