import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { textOf, wrongUsage } from '../input.ts';
import { shellWord } from '../shell-word.ts';
import { COMPILERS, type Language } from '../skill/compilers.table.ts';
import { makeSkill, type NewSkill } from '../skill/make-skill.ts';
import type { Invocation } from '../verb.ts';

const MOST_PUBLISHER_CHARS = 32;
const MOST_ID_CHARS = 64;
/** The publisher where the login name cannot be one. */
const FALLBACK = 'example';
/** Names that nobody can publish under. */
const RESERVED: ReadonlySet<string> = new Set(['palisade', 'local', 'test', '']);

/** Makes a skill that builds and passes its tests as it is. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, edge, print } = invocation;
  const [given = ''] = args;
  const folder = resolve(edge.cwd, given);
  const skill = askedSkill(invocation, folder);
  const files = makeSkill(skill);
  demandEmpty(folder, given);
  write(folder, files);
  const { id, publisher, language } = skill;
  if (print.json) {
    print.document({ skill: id, publisher, language, folder, files: [...files.keys()].sort() });
    return 0;
  }
  print.styled('green', 'made', `  ${id} in ${given}`);
  for (const path of [...files.keys()].sort()) print.line(`  ${path}`);
  for (const verb of ['build', 'test', 'pack'])
    print.note('→', 'cyan', ` palisade skill ${verb} ${shellWord(given)}`);
  return 0;
}

function askedSkill(invocation: Invocation, folder: string): NewSkill {
  const { edge } = invocation;
  const asked = textOf(invocation, 'id');
  const publisher = textOf(invocation, 'publisher') ?? asked?.split('.')[0] ?? publisherOf(edge.env.user);
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
  const is = raw === undefined ? 'there is no --language' : `"${raw}" is no language of skills`;
  throw wrongUsage(`Cannot make the skill: ${is}, expected --language with one of ${choices.join(', ')}`);
}

function publisherOf(user: string | null): string {
  const name = plain(user ?? '', MOST_PUBLISHER_CHARS);
  return RESERVED.has(name) ? FALLBACK : name;
}

/** The nearest name of small letters and digits, with single dashes between them. */
function plain(text: string, mostChars: number): string {
  const small = text.normalize('NFKD').toLowerCase();
  const parts = small.replace(/\p{M}/gu, '').match(/[a-z0-9]+/g) ?? [];
  return parts.join('-').slice(0, mostChars).replace(/-$/, '');
}

function demandEmpty(folder: string, given: string): void {
  try {
    if (readdirSync(folder).length === 0) return;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT') return;
    throw wrongUsage(`Cannot make the skill in "${given}": it gives ${code}, expected a new or empty folder`);
  }
  throw wrongUsage(
    `Cannot make the skill in "${given}": there are files in it, expected a new or empty folder`,
  );
}

/** All of them or none, so that a second try finds an empty folder. */
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
      // Boundary: `wx` writes over nothing that has come there meanwhile.
      writeFileSync(join(folder, path), text, { flag: 'wx' });
      made.push(join(folder, path));
    }
  } catch (error) {
    for (const path of made.reverse()) rmSync(path, { recursive: true, force: true });
    throw wrongUsage(`Cannot make the skill in "${folder}": ${(error as Error).message}`);
  }
}
