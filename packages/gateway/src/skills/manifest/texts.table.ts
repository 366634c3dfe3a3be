import { ACTIVE, inert, quote } from '../../core/hostile-text.ts';
import type { Problem } from '../../core/result.ts';
import { didYouMean, type Misfit } from '../../core/shape-problem.ts';
import { parsePrefix, STORAGE_KEY_BYTES } from '../../core/storage-key.ts';
import { CAPABILITY_NAME_SHAPE, isCapabilityName } from '../../core/wasm.ts';
import { parseHttpUrl } from '../../egress/authority.ts';
import { parseRule, type Rule } from '../../egress/rule.ts';
import { PACKAGE_LIMITS } from '../limits.ts';
import { pathMisfit } from '../package/paths.ts';
import { parseVersion, VERSION_CHARS, VERSION_PATTERN } from '../semver.ts';

/** What a text is instead, and what it should be where that can be said better than for all texts of the shape. */
type Oddity = { readonly is: string; readonly expected?: string; readonly hint?: string | null };

type TextRule = {
  /** What it should be, for people. */
  readonly expected: string;
  /** What is wrong with a text; null: nothing. */
  readonly oddity: (text: string) => Oddity | null;
  /** What a JSON Schema can say of it. It never refuses what the rule takes. */
  readonly chars: readonly [least: number, most: number];
  readonly pattern?: string;
};

/** Reserved publishers: their skills would pass for those that come with palisade or were never published. */
const RESERVED_PUBLISHERS: readonly string[] = ['palisade', 'local', 'test'];

const SEGMENT = '[a-z0-9]+(?:-[a-z0-9]+)*';
const SEGMENT_CHARS = 32;
/** Blank as a space is, and no white space to any pattern. */
const BLANK = '\u2800';
const HIDDEN = new RegExp(`${ACTIVE.source}|${BLANK}`, 'u');

/** Every shape that a text in skill.toml can have. */
export const TEXTS = {
  publisher: {
    expected: `up to ${SEGMENT_CHARS} lower-case letters and digits with single "-" inside, and not ${RESERVED_PUBLISHERS.map((name) => `"${name}"`).join(', ')}`,
    chars: [1, SEGMENT_CHARS],
    pattern: `^${SEGMENT}$`,
    oddity(text) {
      // Boundary: no one publishes under a name reserved for palisade itself.
      if (RESERVED_PUBLISHERS.includes(text))
        return { is: `${quote(text)} is reserved`, expected: 'your own name' };
      return unless(isSegment)(text);
    },
  },
  'skill-id': {
    expected:
      'the publisher and one or two names joined by ".", such as "acme.text", of up to 64 lower-case letters, digits and single "-"',
    chars: [3, 64],
    pattern: `^${SEGMENT}(?:\\.${SEGMENT}){1,2}$`,
    oddity: unless(isSkillId),
  },
  'tool-id': {
    expected: 'up to 32 lower-case letters, digits, "_" and "-" that begin and end with a letter or digit',
    chars: [1, 32],
    pattern: '^[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?$',
    oddity: unless(isToolId),
  },
  version: {
    expected: 'a version by SemVer 2.0.0 such as "1.2.0"',
    chars: [5, VERSION_CHARS],
    pattern: VERSION_PATTERN,
    oddity(text) {
      if (parseVersion(text) !== null) return null;
      const bare = text.slice(0, VERSION_CHARS).replace(/^[v=\s]+/i, '');
      const meant = [bare, `${bare}.0`, `${bare}.0.0`].find((each) => parseVersion(each) !== null);
      return { is: `it is ${quote(text)}`, hint: didYouMean(meant) };
    },
  },
  name: words(80),
  description: words(1024),
  export: words(128),
  license: matching(
    '^[A-Za-z0-9(][A-Za-z0-9.+:() -]*$',
    128,
    'an SPDX expression such as "Apache-2.0" or "MIT OR ISC" of up to 128 characters',
  ),
  homepage: {
    expected: 'an https URL such as "https://example.com/text" of up to 512 characters',
    chars: [9, 512],
    pattern: '^https://',
    oddity: unless((text) => text.length <= 512 && /^https:[!-~]+$/.test(text) && parseHttpUrl(text).ok),
  },
  module: pathTo('.wasm', 'a module of the package such as "text.wasm"'),
  source: pathTo('', 'a file below the folder of the skill such as "src/text.ts"'),
  'capability-name': {
    expected: CAPABILITY_NAME_SHAPE,
    chars: [1, 64],
    pattern: '^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$',
    oddity(text) {
      if (text === '*') return { is: 'it would mean every one', expected: 'each by its name' };
      return unless(isCapabilityName)(text);
    },
  },
  'egress-entry': {
    expected: 'an entry as in docs/egress.md such as "api.example.com:443", and none that denies',
    chars: [1, 2048],
    oddity(text) {
      const rule = parseRule(text);
      if (!rule.ok) return oddityOf(rule.problem);
      // Boundary: a manifest requests; the operator decides what is withheld.
      return rule.value.denies
        ? { is: `${quote(text)} denies`, expected: 'only what is asked for, without "!"' }
        : null;
    },
  },
  'secret-host': {
    expected: 'a host such as "api.example.com" or "api.example.com:8443", without a scheme and a path',
    chars: [1, 2048],
    oddity(text) {
      const rule = parseRule(text);
      if (!rule.ok) return oddityOf(rule.problem);
      return unless(() => isPlaceAlone(rule.value))(text);
    },
  },
  'storage-root': {
    expected: 'the beginning of keys such as "notes/", or "/" for all of them',
    // The longest key, and a slash behind it.
    chars: [0, STORAGE_KEY_BYTES + 1],
    oddity(text) {
      const prefix = parsePrefix(text === '' ? '/' : text);
      return prefix.ok ? null : oddityOf(prefix.problem);
    },
  },
  'component-name': matching(
    '^[A-Za-z0-9@][A-Za-z0-9@._/+-]*$',
    214,
    'up to 214 letters, digits and @ . _ / + - such as "zlib" or "@scope/name"',
  ),
  'component-version': matching(
    '^[A-Za-z0-9][A-Za-z0-9._+~:-]*$',
    128,
    'up to 128 letters, digits and . _ + ~ : - that begin with a letter or digit',
  ),
  purl: matching(
    '^pkg:[a-z][a-z0-9.+-]*/[!-~]+$',
    512,
    'a package URL such as "pkg:npm/left-pad@1.3.0" of up to 512 characters',
  ),
} as const satisfies Record<string, TextRule>;

export type TextName = keyof typeof TEXTS;

/** What is wrong with a text that should have a shape; null: nothing. */
export function misfitIn(shape: TextName, text: string): Misfit | null {
  const rule: TextRule = TEXTS[shape];
  const oddity = rule.oddity(text);
  return oddity === null ? null : { expected: rule.expected, ...oddity };
}

/** Whether an entry names a host and perhaps its port, and nothing of the request. */
function isPlaceAlone({ denies, scheme, methods, path }: Rule): boolean {
  return !denies && scheme === null && methods === null && path === null;
}

function isSegment(text: string): boolean {
  return text.length <= SEGMENT_CHARS && new RegExp(`^${SEGMENT}$`).test(text);
}

function isSkillId(text: string): boolean {
  const segments = text.length <= 64 ? text.split('.') : [];
  return segments.length >= 2 && segments.length <= 3 && segments.every(isSegment);
}

function isToolId(text: string): boolean {
  return text.length <= 32 && /^[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?$/.test(text);
}

/** A text that one pattern describes. */
function matching(pattern: string, most: number, expected: string): TextRule {
  const shape = new RegExp(pattern);
  return {
    expected,
    chars: [1, most],
    pattern,
    oddity: unless((text) => text.length <= most && shape.test(text)),
  };
}

/** A text that people read: one line, nothing in it that they do not see. */
function words(most: number): TextRule {
  const expected = `1 to ${most} visible characters on one line`;
  return {
    expected,
    chars: [1, most],
    oddity(text) {
      if (text.trim() === '') return { is: text === '' ? 'it is empty' : 'it is blank' };
      // No character takes more than two units: what is far too long is not counted.
      const length = text.length > 2 * most ? text.length : [...text].length;
      if (length > most) return { is: `it has ${length} characters` };
      // Boundary: what is approved is what is read; a character that reorders or hides others would show another text.
      const [hidden] = HIDDEN.exec(text) ?? [];
      if (hidden !== undefined) return { is: `it has ${nameOf(hidden)}` };
      return text.trim() === text
        ? null
        : { is: 'it begins or ends with white space', expected: 'none there' };
    },
  };
}

function nameOf(char: string): string {
  const point = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  if (/\p{Bidi_Control}/u.test(char)) return `U+${point}, which turns the direction of the text`;
  return `U+${point}, which is ${/\p{Cc}/u.test(char) ? 'a control character' : 'invisible'}`;
}

/** A path of the package that ends in a certain way. */
function pathTo(ending: string, expected: string): TextRule {
  return {
    expected,
    chars: [1, PACKAGE_LIMITS.pathChars],
    pattern: `^[A-Za-z0-9_][A-Za-z0-9._/-]*${ending.replace('.', '\\.')}$`,
    oddity(text) {
      // Boundary: what a manifest names is in its package; no path leads out of it.
      const misfit = pathMisfit(text);
      if (misfit !== null) return { ...misfit, is: `${misfit.is} (${quote(text)})` };
      return unless((path) => path.endsWith(ending) && path !== ending)(text);
    },
  };
}

function oddityOf({ subject, is, expected }: Problem): Oddity {
  return { is: inert(`${is} (${subject})`), expected: inert(expected) };
}

/** What is wrong with a text that does not fit, and which similar one would. */
function unless(isFit: (text: string) => boolean): TextRule['oddity'] {
  return (text) => {
    if (isFit(text)) return null;
    const lower = text.trim().toLowerCase();
    const meant = [lower, lower.replace(/[_\s]+/g, '-')].find(isFit);
    return { is: `it is ${quote(text)}`, hint: didYouMean(meant) };
  };
}
