import { sentenceOf } from '../../../core/result.ts';
import { parseManifest } from '../../../skills/manifest/parse-manifest.ts';
import { PACKAGE_FILES } from '../../../skills/package/skill-package.ts';
import { VERSION } from '../../../version.ts';
import { wrongUsage } from '../input.ts';
import type { Language } from './compilers.table.ts';
import { COMMON_FILES } from './templates/common.table.ts';
import { LANGUAGES, MODULE } from './templates/languages.table.ts';

/** What a new skill is called. */
export type NewSkill = {
  readonly id: string;
  readonly publisher: string;
  readonly name: string;
  readonly language: Language;
};

/** The files of a new skill by their paths; refuses names that its own manifest would refuse. */
export function makeSkill(skill: NewSkill): ReadonlyMap<string, string> {
  const { source, text, more } = LANGUAGES[skill.language];
  const values = valuesFor(skill);
  const files = new Map(Object.entries(COMMON_FILES).map(([path, form]) => [path, fill(form, values)]));
  files.set(source, text);
  for (const [path, form] of Object.entries(more)) files.set(path, form);
  demandValid(files);
  return files;
}

/** The part of an id after its publisher, as a name of small letters, digits and dashes. */
export function shortNameOf({ id, publisher }: Pick<NewSkill, 'id' | 'publisher'>): string {
  return id.slice(publisher.length + 1).replaceAll('.', '-');
}

function valuesFor(skill: NewSkill): ReadonlyMap<string, string> {
  const { source, name: languageName } = LANGUAGES[skill.language];
  return new Map([
    ['ID', tomlText(skill.id)],
    ['PLAIN_ID', skill.id],
    ['PUBLISHER', tomlText(skill.publisher)],
    ['NAME', tomlText(skill.name)],
    ['TITLE', skill.name],
    ['SLUG', shortNameOf(skill)],
    ['LANGUAGE', skill.language],
    ['LANGUAGE_NAME', languageName],
    ['SOURCE', source],
    ['MODULE', MODULE],
    ['VERSION', tomlText(VERSION)],
  ]);
}

function fill(form: string, values: ReadonlyMap<string, string>): string {
  return form.replace(/%([A-Z_]+)%/g, (whole, name: string) => values.get(name) ?? whole);
}

/** JSON writes a text as TOML reads it, but for one character that TOML wants escaped. */
function tomlText(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}

/** Boundary: the words of a flag are judged by the one reader of manifests, not by a second grammar here. */
function demandValid(files: ReadonlyMap<string, string>): void {
  const read = (path: string) => {
    const text = files.get(path);
    return text === undefined ? null : Buffer.from(text);
  };
  const result = parseManifest(files.get(PACKAGE_FILES.manifest) ?? '', read);
  if (result.ok) return;
  const [first] = result.problem;
  throw wrongUsage(
    first === undefined ? 'Cannot make the skill: its manifest would not be valid' : sentenceOf(first),
  );
}
