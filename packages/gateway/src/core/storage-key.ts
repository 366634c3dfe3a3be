import { quote } from './hostile-text.ts';
import { LOOK_ALIKES } from './look-alikes.table.ts';
import { accept, type Problem, type Result, reject } from './result.ts';

type KeyRule = readonly [fault: string, isBroken: (raw: string) => boolean, is: string, expected: string];

export const STORAGE_KEY_BYTES = 512;

const ASCII = /^\p{ASCII}*$/u;
const listed: ReadonlySet<string> = new Set(LOOK_ALIKES.map(({ char }) => char));

/** The rules for keys. The first broken rule names the refusal. */
const KEY_RULES = [
  ['empty', (raw) => raw === '', 'it is empty', 'at least one character'],
  [
    'too-long',
    // No character takes fewer bytes than it has units: what is far too long is not measured.
    (raw) => raw.length > STORAGE_KEY_BYTES || Buffer.byteLength(raw) > STORAGE_KEY_BYTES,
    'it is too long',
    `at most ${STORAGE_KEY_BYTES} bytes of UTF-8`,
  ],
  [
    'not-unicode',
    // A character that is unassigned today may have another normal form tomorrow, and its key would be lost.
    (raw) => /[\p{Surrogate}\p{Unassigned}]/u.test(raw),
    'it has half a character or one that Unicode does not know',
    'assigned characters',
  ],
  [
    'control',
    // Keys are shown in lists and logs, so characters that break or reverse lines are not allowed.
    (raw) => /[\p{Control}\p{Line_Separator}\p{Paragraph_Separator}\p{Bidi_Control}]/u.test(raw),
    'it has a control character',
    'none of those that break or turn a line',
  ],
  ['backslash', (raw) => raw.includes('\\'), 'it has a backslash', 'segments separated by "/"'],
  [
    'not-normal',
    (raw) => raw.normalize('NFC') !== raw,
    'it is not in the normal form NFC',
    'the one spelling of each character',
  ],
  [
    'look-alike',
    (raw) => !ASCII.test(raw) && [...raw].some(isLookAlike),
    'it has a character that passes for a dot, a slash or a backslash',
    'the plain "." and "/"',
  ],
  ['outer-slash', (raw) => /^\/|\/$/.test(raw), 'it begins or ends with "/"', 'a segment there'],
  ['empty-segment', (raw) => raw.includes('//'), 'it has an empty segment', 'one "/" between segments'],
  [
    'dot-segment',
    (raw) => /(?:^|\/)\.{1,2}(?:\/|$)/.test(raw),
    'it has the segment "." or ".."',
    'segments that are names',
  ],
] as const satisfies readonly KeyRule[];

function isLookAlike(char: string): boolean {
  if (listed.has(char)) return true;
  return !ASCII.test(char) && /[./\\]/.test(char.normalize('NFKC'));
}

/** A key in its only spelling: no two of them look or sort the same, and none escapes from its prefix. */
export type StorageKey = string & { readonly storageKey: unique symbol };

/** The scope of a grant or a list: a key and everything beneath it, or the whole space (the empty text). */
export type StoragePrefix = string & { readonly storagePrefix: unique symbol };

type KeyFault = (typeof KEY_RULES)[number][0];

/** Why a text is not a key; names the first rule that it breaks. */
type KeyProblem = Problem & { readonly fault: KeyFault };

/** Parses a key; it is refused with the name of the first rule that it breaks, never repaired. */
export function parseKey(raw: string): Result<StorageKey, KeyProblem> {
  // Boundary: a skill chose this text; past this line it means the same to every reader.
  const broken = KEY_RULES.find(([, isBroken]) => isBroken(raw));
  if (broken === undefined) return accept(raw as StorageKey);
  const [fault, , is, expected] = broken;
  return reject({ subject: `key ${quote(raw)}`, is, expected, fault });
}

/** Parses `notes/` or `notes`, which are equivalent, or `/`, which is the whole space. */
export function parsePrefix(raw: string): Result<StoragePrefix, KeyProblem> {
  if (raw === '/') return accept('' as StoragePrefix);
  const parsed = parseKey(raw.endsWith('/') ? raw.slice(0, -1) : raw);
  return parsed.ok ? accept(parsed.value as string as StoragePrefix) : parsed;
}

/** Whether a key or a prefix is the given prefix itself or lies beneath it; a prefix ends where a segment ends. */
export function isBeneath(place: StorageKey | StoragePrefix, prefix: StoragePrefix): boolean {
  return prefix === '' || place === prefix || place.startsWith(`${prefix}/`);
}
