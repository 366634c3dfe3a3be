/*
 * The texts of a package that a person or a model reads, and what stands out in each. Every text is folded and walked once,
 * whatever the checks ask of it later.
 */
import { isUtf8 } from 'node:buffer';
import type { Json } from '../../../core/json.ts';
import type { Manifest } from '../../manifest/manifest.ts';
import { PACKAGE_FILES, type SkillPackage } from '../../package/skill-package.ts';
import { fold } from './fold.ts';
import { findHidden, type HiddenCharacter } from './hidden.ts';
import { findPhrases, type PhraseHit } from './phrases.ts';

/** A name; what is listed to a model; SKILL.md; another page; and a file that is read by programs and authors. */
export type MaterialKind = 'name' | 'listed' | 'skill' | 'page' | 'file';

export type Material = {
  readonly kind: MaterialKind;
  /** The file, or the part of the manifest. */
  readonly where: string;
  readonly text: string;
  /** Whether places in it are lines of a file. */
  readonly hasLines: boolean;
  /** As it is understood; empty for a file, whose words are for no reader. */
  readonly folded: string;
  readonly phrases: readonly PhraseHit[];
  /** Characters that show nothing, one of each kind. */
  readonly hidden: readonly HiddenCharacter[];
};

const PAGE = /\.(?:md|markdown|txt|rst|html?)$|(?:^|\/)(?:README|LICENSE|NOTICE|AUTHORS|CHANGELOG)$/i;
/** What signing makes: keys and signatures, checked by what they are for. */
const UNREAD: readonly string[] = [PACKAGE_FILES.key, PACKAGE_FILES.signature];
/** Strings of one schema that are looked at; a schema with more is far from being read by anybody. */
const MOST_STRINGS = 10_000;

/** All texts of a package. */
export function materialOf({ manifest, entries }: SkillPackage): readonly Material[] {
  return [...textsOfManifest(manifest), ...textsOfFiles(entries)];
}

/** Tells whether bytes are a text that an editor shows as it is. */
export function isText(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

function* textsOfManifest({ name, description, tools }: Manifest): Iterable<Material> {
  yield readable('name', 'skill.toml name', name);
  yield readable('listed', 'skill.toml description', description);
  for (const tool of tools) {
    yield readable('name', `the tool "${tool.id}", name`, tool.name);
    yield readable('listed', `the tool "${tool.id}", description`, tool.description);
    for (const [part, schema] of [
      ['input_schema', tool.inputSchema],
      ['output_schema', tool.outputSchema],
    ] as const)
      yield readable('listed', `the tool "${tool.id}", ${part}`, stringsOf(schema).join('\n\n'));
  }
}

function* textsOfFiles(entries: SkillPackage['entries']): Iterable<Material> {
  for (const [path, bytes] of entries) {
    if (path.endsWith('.wasm') || UNREAD.includes(path) || !isText(bytes)) continue;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
    if (path === PACKAGE_FILES.prose) yield { ...readable('skill', path, text), hasLines: true };
    else if (PAGE.test(path)) yield { ...readable('page', path, text), hasLines: true };
    else
      yield {
        kind: 'file',
        where: path,
        text,
        hasLines: true,
        folded: '',
        phrases: [],
        hidden: findHidden(text),
      };
  }
}

function readable(kind: MaterialKind, where: string, text: string): Material {
  const folded = fold(text);
  return {
    kind,
    where,
    text,
    folded,
    hasLines: false,
    phrases: findPhrases(folded),
    hidden: findHidden(text),
  };
}

/** Every text of a schema, its keys included: a model is shown all of them. */
function stringsOf(schema: Json): readonly string[] {
  const found: string[] = [];
  const open: Json[] = [schema];
  for (let value = open.pop(); value !== undefined && found.length < MOST_STRINGS; value = open.pop()) {
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
