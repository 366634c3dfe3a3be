import { isUtf8 } from 'node:buffer';
import { quote } from '../../core/hostile-text.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import { positionOfBadUtf8 } from '../../core/text-position.ts';
import { PROSE_LIMITS } from '../limits.ts';
import { misfitIn } from './texts.table.ts';

/*
 * SKILL.md: front matter between two lines of "---", then prose. Of YAML it takes what cannot be misread: one `key: value`
 * on a line, plain or in quotes. A value that other readers of YAML would take for something else is refused.
 */

type FrontMatter = Result<
  { readonly name: string; readonly description: string },
  { readonly line: number; readonly what: string }
>;

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const PAIR = /^([A-Za-z][A-Za-z0-9_-]*):(?:[ \t](.*))?$/;
/** What begins something else than a plain text in YAML, or changes what follows. */
const SPECIAL_START = /^[[\]{}&*!|>%@`"'#,?:-]/;
/** Words that YAML readers do not take for strings. */
const SPECIAL_WORD = /^(?:~|null|true|false|yes|no|on|off|[-+.]?[0-9][0-9_.,:eExXoO+-]*|\.inf|\.nan)$/i;
/** Others that the Agent Skills form has; they are ignored, because nothing here depends on them. */
const OTHER_KEYS: ReadonlySet<string> = new Set([
  'license',
  'compatibility',
  'allowed-tools',
  'version',
  'metadata',
]);
/** The lines below `metadata:`, the one key with lines of its own. */
const BENEATH = /^ {1,8}[A-Za-z][A-Za-z0-9_.-]*: +\S.*$/;

/** Reads the front matter; the rest may be any text. */
export function readProse(bytes: Uint8Array): FrontMatter {
  if (bytes.length > PROSE_LIMITS.fileBytes)
    return problem(1, 'it is too large', `at most ${PROSE_LIMITS.fileBytes} bytes`);
  if (!isUtf8(bytes)) return problem(positionOfBadUtf8(bytes).line, 'it has other bytes', 'UTF-8');
  const text = new TextDecoder().decode(bytes);
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  const nul = lines.findIndex((line) => line.includes('\0'));
  if (nul >= 0) return problem(nul + 1, 'it has a NUL', 'text');
  if (lines[0] !== '---') return problem(1, 'it has no front matter', 'a first line of "---"');
  const end = lines.indexOf('---', 1);
  if (end < 0) return problem(1, 'its front matter does not end', 'a second line of "---"');
  return readPairs(lines.slice(1, end));
}

function readPairs(lines: readonly string[]): FrontMatter {
  const values = new Map<string, { readonly line: number; readonly value: string }>();
  let last = '';
  for (const [i, text] of lines.entries()) {
    const line = i + 2;
    if (/^[ \t]*(?:#.*)?$/.test(text) || (last === 'metadata' && BENEATH.test(text))) continue;
    const [, key = '', raw = ''] = PAIR.exec(text) ?? [];
    if (key === '') {
      return problem(line, `it has the line ${quote(text)}`, 'lines such as "name: text-tools"');
    }
    last = key;
    if (values.has(key)) return problem(line, `the key ${key} occurs twice`, 'each key once');
    const isRead = key === 'name' || key === 'description';
    if (!isRead && !OTHER_KEYS.has(key)) {
      return problem(
        line,
        `the key ${quote(key)} is unknown`,
        `name, description, ${[...OTHER_KEYS].join(', ')}`,
      );
    }
    const value = isRead ? readValue(raw.trim()) : '';
    if (value === null) {
      return problem(
        line,
        `the value of ${key} is ${quote(raw)}`,
        'a plain text, or one in double quotes, on one line',
      );
    }
    values.set(key, { line, value });
  }
  return checkValues(values);
}

function readValue(raw: string): string | null {
  if (raw.startsWith('"')) return readQuoted(raw);
  if (raw.startsWith("'"))
    return /^'(?:[^']|'')*'$/.test(raw) ? raw.slice(1, -1).replaceAll("''", "'") : null;
  // Boundary: what one reader takes for a text and another for a list, a number or a comment is refused.
  const isPlain =
    raw !== '' && !SPECIAL_START.test(raw) && !SPECIAL_WORD.test(raw) && !/:(?:\s|$)|\s#/.test(raw);
  return isPlain ? raw : null;
}

/** In double quotes, YAML has the escapes of JSON and more; those of JSON are taken. */
function readQuoted(raw: string): string | null {
  if (!/^"(?:[^"\\\p{Cc}]|\t|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*"$/u.test(raw)) return null;
  return JSON.parse(raw.replaceAll('\t', '\\t')) as string;
}

function checkValues(
  values: ReadonlyMap<string, { readonly line: number; readonly value: string }>,
): FrontMatter {
  const [name, description] = [values.get('name'), values.get('description')];
  if (name === undefined)
    return problem(1, 'its front matter has no name', 'a line such as "name: text-tools"');
  if (description === undefined)
    return problem(1, 'its front matter has no description', 'a line "description: …"');
  if (name.value.length > PROSE_LIMITS.nameChars || !NAME.test(name.value)) {
    const expected = `up to ${PROSE_LIMITS.nameChars} lower-case letters, digits and single "-" inside`;
    return problem(name.line, `the name is ${quote(name.value)}`, expected);
  }
  const misfit = misfitIn('description', description.value);
  if (misfit !== null)
    return problem(description.line, `the description does not fit: ${misfit.is}`, misfit.expected);
  return accept({ name: name.value, description: description.value });
}

function problem(line: number, is: string, expected: string) {
  return reject({ line, what: `Cannot read SKILL.md: ${is}, expected ${expected}` });
}
