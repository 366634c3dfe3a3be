import { isUtf8 } from 'node:buffer';
import type { Json } from '../../../core/json.ts';
import type { Manifest } from '../../manifest/manifest.ts';
import { PACKAGE_FILES, type SkillPackage } from '../../package/skill-package.ts';
import { fold } from './fold.ts';
import { findHidden, type HiddenCharacter } from './hidden.ts';
import { findPhrases, type PhraseHit } from './phrases.ts';

/*
 * The texts of a package that a person or a model reads, and what is notable in each. Every text is folded and scanned
 * once, for all checks.
 */

/** A name; what is listed to a model; SKILL.md; another page; a file for programs and authors; and what is too much. */
type MaterialKind = 'name' | 'listed' | 'skill' | 'page' | 'file' | 'unread';

export type Material = {
  readonly kind: MaterialKind;
  /** The file, or the part of the manifest. */
  readonly where: string;
  readonly text: string;
  /** Whether places in it are lines of a file. */
  readonly hasLines: boolean;
  /** The folded text; empty for a file that is not prose. */
  readonly folded: string;
  readonly phrases: readonly PhraseHit[];
  /** Characters that show nothing, one of each kind. */
  readonly hidden: readonly HiddenCharacter[];
};

/** What programs read; every other text may be read as prose. */
const FOR_PROGRAMS =
  /\.(?:[cm]?[jt]sx?|json|jsonl|toml|lock|c|h|cc|cpp|hpp|rs|go|zig|py|rb|java|kt|swift|cs|wit|map|css|patch|diff)$/i;
/** What signing makes: keys and signatures, checked by what they are for. */
const UNREAD: readonly string[] = [PACKAGE_FILES.key, PACKAGE_FILES.signature];
/** Strings of one schema that are examined; no one reads a schema with more. */
const MOST_STRINGS = 10_000;

/** Texts to read and files to look through; a second of work, and far more than is ever written for a reader. */
const MOST_READ_BYTES = 4 * 1024 * 1024;
const MOST_FILE_BYTES = 16 * 1024 * 1024;

/** All texts of a package. */
export function materialOf({ manifest, entries }: SkillPackage): readonly Material[] {
  const left = { file: MOST_FILE_BYTES, read: MOST_READ_BYTES };
  return [...textsOfManifest(manifest), ...textsOfFiles(entries)].map(({ kind, where, text, hasLines }) => {
    const budget = kind === 'file' ? 'file' : 'read';
    left[budget] -= text.length;
    // Boundary: a package can have 64 MiB of text, and reading all of it would block the gateway.
    if (left[budget] < 0) return { ...NOTHING_SEEN, kind: 'unread', where, text, hasLines };
    if (kind === 'file') return { ...NOTHING_SEEN, kind, where, text, hasLines, hidden: findHidden(text) };
    const folded = fold(text);
    return { kind, where, text, hasLines, folded, phrases: findPhrases(folded), hidden: findHidden(text) };
  });
}

type Text = Pick<Material, 'kind' | 'where' | 'text' | 'hasLines'>;

const NOTHING_SEEN = { folded: '', phrases: [], hidden: [] } as const;

/** Whether bytes are a text that an editor shows as it is. */
export function isText(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

function* textsOfManifest({
  name,
  description,
  license,
  homepage,
  components,
  tools,
}: Manifest): Iterable<Text> {
  yield part('name', 'skill.toml name', name);
  yield part('listed', 'skill.toml description', description);
  yield part('name', 'skill.toml license', license ?? '');
  yield part('name', 'skill.toml homepage', homepage ?? '');
  const named = components.map((each) => `${each.name} ${each.purl ?? ''} ${each.license ?? ''}`);
  yield part('listed', 'skill.toml components', named.join('\n\n'));
  for (const tool of tools) {
    yield part('name', `the tool "${tool.id}", name`, tool.name);
    yield part('listed', `the tool "${tool.id}", description`, tool.description);
    for (const [which, schema] of [
      ['input_schema', tool.inputSchema],
      ['output_schema', tool.outputSchema],
    ] as const)
      yield part('listed', `the tool "${tool.id}", ${which}`, stringsOf(schema, MOST_STRINGS).join('\n\n'));
  }
}

/** SKILL.md first: nothing else can take its place among what is read. */
function* textsOfFiles(entries: SkillPackage['entries']): Iterable<Text> {
  const prose = [...entries].filter(([path]) => path === PACKAGE_FILES.prose);
  const others = [...entries].filter(([path]) => path !== PACKAGE_FILES.prose);
  for (const [path, bytes] of [...prose, ...others]) {
    if (path.endsWith('.wasm') || UNREAD.includes(path) || !isText(bytes)) continue;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
    const kind = path === PACKAGE_FILES.prose ? 'skill' : FOR_PROGRAMS.test(path) ? 'file' : 'page';
    yield { ...part(kind, path, text), hasLines: true };
  }
}

function part(kind: MaterialKind, where: string, text: string): Text {
  return { kind, where, text, hasLines: false };
}

/** The texts of a schema, its keys included, up to a limit: a model sees all of them. */
export function stringsOf(schema: Json, most: number): readonly string[] {
  const found: string[] = [];
  const open: Json[] = [schema];
  for (let value = open.pop(); value !== undefined && found.length < most; value = open.pop()) {
    if (typeof value === 'string') found.push(value);
    else if (Array.isArray(value)) open.push(...value);
    else if (typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value)) {
        found.push(key);
        open.push(each);
      }
  }
  return found;
}

/** Markers of tools have a word or two; a sentence has more. */
const LEAST_WORDS = 4;

/** Where a comment of HTML with a sentence in it begins, or one of Markdown that looks like a link; -1 without one. */
export function findComment(text: string): number {
  for (let at = text.indexOf('<!--'); at >= 0; at = text.indexOf('<!--', at + 4)) {
    const end = text.indexOf('-->', at + 4);
    // A comment that does not end hides the rest.
    if (countWords(text.slice(at + 4, end < 0 ? undefined : end)) >= LEAST_WORDS) return at;
    if (end < 0) break;
    at = end - 1;
  }
  return text.search(/^ {0,3}\[[^\]\n]{1,60}\]:[ \t]?<?#?>?[ \t]["'(]/m);
}

function countWords(text: string): number {
  return text.split(/\s+/, 64).filter((word) => /\p{L}{2}/u.test(word)).length;
}
