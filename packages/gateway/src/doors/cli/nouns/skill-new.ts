import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { shellWord } from '../../../core/hostile-text.ts';
import { sentenceOf } from '../../../core/result.ts';
import { parseManifest } from '../../../skills/manifest/parse-manifest.ts';
import { PACKAGE_FILES } from '../../../skills/package/skill-package.ts';
import { VERSION } from '../../../version.ts';
import { textOf, wrongUsage } from '../input.ts';
import { COMPILERS, type Language } from '../skill/compilers.table.ts';
import { readGuestFile } from '../skill/find-compiler.ts';
import { COMMON_FILES } from '../skill/templates/common.table.ts';
import { LANGUAGES, MODULE } from '../skill/templates/languages.table.ts';
import type { Invocation } from '../verb.ts';

const MOST_PUBLISHER_CHARS = 32;
const MOST_ID_CHARS = 64;
/** The publisher where the login name is not a valid one. */
const FALLBACK = 'example';
const RESERVED: ReadonlySet<string> = new Set(['palisade', 'local', 'test', '']);

/** Creates a skill that builds and passes its tests as it is. */
export async function create(invocation: Invocation): Promise<number> {
  const { args, edge, print } = invocation;
  const [given = ''] = args;
  const folder = resolve(edge.cwd, given);
  const skill = requestedSkill(invocation, folder);
  const copies = Object.entries(LANGUAGES[skill.language].copies ?? {});
  const copied = copies.map(([path, from]) => [path, readGuestFile(invocation, from)] as const);
  const files = new Map([...makeSkill(skill), ...copied]);
  requireEmpty(folder, given);
  write(folder, files);
  const { id, publisher, language } = skill;
  const paths = [...files.keys()].sort();
  return print.result({ skill: id, publisher, language, folder, files: paths }, () => {
    print.styled('green', 'created', `  ${id} in ${given}`);
    for (const path of paths) print.line(`  ${path}`);
    for (const verb of ['build', 'test', 'pack']) print.next(`palisade skill ${verb} ${shellWord(given)}`);
  });
}

function requestedSkill(invocation: Invocation, folder: string) {
  const { edge } = invocation;
  const asked = textOf(invocation, 'id');
  const user = plain(edge.env.user ?? '', MOST_PUBLISHER_CHARS);
  const own = RESERVED.has(user) ? FALLBACK : user;
  const publisher = textOf(invocation, 'publisher') ?? asked?.split('.')[0] ?? own;
  const short = plain(basename(folder), MOST_ID_CHARS - publisher.length - 1) || 'skill';
  const words = short.replaceAll('-', ' ');
  return {
    id: asked ?? `${publisher}.${short}`,
    publisher,
    name: textOf(invocation, 'name') ?? `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`,
    language: languageOf(invocation),
  };
}

function languageOf(invocation: Invocation): Language {
  const raw = textOf(invocation, 'language');
  const choices = Object.keys(COMPILERS) as Language[];
  const found = choices.find((each) => each === raw);
  if (found !== undefined) return found;
  const is = raw === undefined ? '--language is missing' : `"${raw}" is not supported`;
  throw wrongUsage(`Cannot create the skill: ${is}, expected --language with one of ${choices.join(', ')}`);
}

/** The nearest name of lower-case letters and digits, with single dashes between them. */
function plain(text: string, mostChars: number): string {
  const small = text.normalize('NFKD').toLowerCase();
  const parts = small.replace(/\p{M}/gu, '').match(/[a-z0-9]+/g) ?? [];
  return parts.join('-').slice(0, mostChars).replace(/-$/, '');
}

function requireEmpty(folder: string, given: string): void {
  const refuse = (why: string) => wrongUsage(`Cannot create the skill in "${given}": ${why}`);
  try {
    if (readdirSync(folder).length === 0) return;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT') return;
    throw refuse(`it fails with ${code}, expected a new or empty folder`);
  }
  throw refuse('the folder has files, expected a new or empty one');
}

/** Writes all files or none, so that a second try finds an empty folder. */
function write(folder: string, files: ReadonlyMap<string, string>): void {
  const made: string[] = [];
  const make = (path: string): void => {
    const first = mkdirSync(path, { recursive: true });
    if (first !== undefined) made.push(first);
  };
  try {
    make(folder);
    for (const [path, text] of files) {
      make(dirname(join(folder, path)));
      // Boundary: `wx` replaces no file that was created in the meantime.
      writeFileSync(join(folder, path), text, { flag: 'wx' });
      made.push(join(folder, path));
    }
  } catch (error) {
    for (const path of made.reverse()) rmSync(path, { recursive: true, force: true });
    throw wrongUsage(`Cannot create the skill in "${folder}": ${(error as Error).message}`);
  }
}

type NewSkill = ReturnType<typeof requestedSkill>;

/** The files of a new skill by their paths; refuses names that its own manifest would refuse. */
function makeSkill({ id, publisher, name, language }: NewSkill): ReadonlyMap<string, string> {
  const { source, name: languageName, text, more } = LANGUAGES[language];
  const values = new Map([
    ['ID', tomlText(id)],
    ['PLAIN_ID', id],
    ['PUBLISHER', tomlText(publisher)],
    ['NAME', tomlText(name)],
    ['TITLE', name],
    ['SLUG', id.slice(publisher.length + 1).replaceAll('.', '-')],
    ['LANGUAGE', language],
    ['LANGUAGE_NAME', languageName],
    ['SOURCE', source],
    ['MODULE', MODULE],
    ['VERSION', tomlText(VERSION)],
  ]);
  const fill = (form: string) =>
    form.replace(/%([A-Z_]+)%/g, (whole, key: string) => values.get(key) ?? whole);
  const files = new Map(Object.entries(COMMON_FILES).map(([path, form]) => [path, fill(form)]));
  for (const [path, form] of Object.entries({ [source]: text, ...more })) files.set(path, form);
  requireValid(files);
  return files;
}

/** JSON writes a string as TOML reads it, except for one character that TOML wants escaped. */
function tomlText(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}

/** Boundary: the values of flags are checked by the one parser of manifests, not by a second grammar here. */
function requireValid(files: ReadonlyMap<string, string>): void {
  const read = (path: string) => {
    const text = files.get(path);
    return text === undefined ? null : Buffer.from(text);
  };
  const result = parseManifest(files.get(PACKAGE_FILES.manifest) ?? '', read);
  if (result.ok) return;
  const [first] = result.problem;
  throw wrongUsage(
    first === undefined ? 'Cannot create the skill: its manifest is not valid' : sentenceOf(first),
  );
}
